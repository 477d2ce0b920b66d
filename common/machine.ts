interface StateRow {
  readonly to: readonly string[];
  readonly means: string;
}

/** A state machine as a table: which status may follow which, and what each means. */
export interface Machine<S extends string, Noun extends string = string> {
  readonly name: Noun;
  readonly initial: S;
  /** Every status that a row may begin with; `initial` is the first. */
  readonly initials: readonly [S, ...S[]];
  readonly states: Readonly<Record<S, StateRow>>;
  /** Every status, in the order of the table. */
  readonly names: readonly [S, ...S[]];
  allows(from: S, to: S): boolean;
  /** Whether nothing follows the status. */
  isFinal(status: S): boolean;
}

/** The statuses of a machine. */
export type StateOf<M> = M extends Machine<infer S> ? S : never;

/**
 * Builds a machine from its table; a row that leads to an unknown status does not compile. `begins`
 * is the status that a row begins with, or a list of them, the usual one first.
 */
export function machine<const S extends string, const Noun extends string>(
  name: Noun,
  begins: NoInfer<S> | readonly [NoInfer<S>, ...NoInfer<S>[]],
  states: Readonly<Record<S, { to: readonly NoInfer<S>[]; means: string }>>,
): Machine<S, Noun> {
  const names = Object.keys(states) as [S, ...S[]];
  const initials: readonly [S, ...S[]] = typeof begins === "string" ? [begins] : begins;
  return {
    name,
    initial: initials[0],
    initials,
    states,
    names,
    allows: (from, to) => states[from].to.includes(to),
    isFinal: (status) => states[status].to.length === 0,
  };
}
