interface StateRow {
  readonly to: readonly string[];
  readonly means: string;
}

/** A state machine as a table: which status may follow which, and what each means. */
export interface Machine<S extends string> {
  readonly name: string;
  readonly initial: S;
  readonly states: Readonly<Record<S, StateRow>>;
  /** Every status, in the order of the table. */
  readonly names: readonly [S, ...S[]];
  allows(from: S, to: S): boolean;
  /** Whether nothing follows the status. */
  isFinal(status: S): boolean;
}

/** The statuses of a machine. */
export type StateOf<M> = M extends Machine<infer S> ? S : never;

/** Builds a machine from its table; a row that leads to an unknown status does not compile. */
export function machine<const S extends string>(
  name: string,
  initial: NoInfer<S>,
  states: Readonly<Record<S, { to: readonly NoInfer<S>[]; means: string }>>,
): Machine<S> {
  const names = Object.keys(states) as [S, ...S[]];
  return {
    name,
    initial,
    states,
    names,
    allows: (from, to) => states[from].to.includes(to),
    isFinal: (status) => states[status].to.length === 0,
  };
}
