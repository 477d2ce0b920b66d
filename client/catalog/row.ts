import { type OptionRow, type Options, rowsOf } from "./options.ts";

/** A command: all that help, parsing and completion need. */
export interface CommandRow {
  /** Its words: `launch`, `api start`. */
  readonly name: string;
  readonly group: string;
  /** Operands as commander writes them: `<cluster> [jobs...]`. */
  readonly operands?: string;
  readonly summary: string;
  readonly options: readonly OptionRow[];
  /** Shown below the options. */
  readonly more?: string;
  readonly hidden?: true;
  /** It starts the control plane of the home if none runs there. */
  readonly startsControl?: true;
  /** It runs where only its group is named: `gpus`. */
  readonly isDefault?: true;
  /** It reads its words itself, those that ask for help among them; none is an option of ours. */
  readonly readsItself?: true;
}

/** A command as the catalog has it, by its name. */
interface GivenRow extends Omit<CommandRow, "name" | "group" | "options"> {
  readonly group?: string;
  readonly options?: Options;
}

type GivenRows = Readonly<Record<string, GivenRow>>;

/** The commands of a group; the type tells what each was given. */
export type Group<Rows = GivenRows> = readonly CommandRow[] & { readonly given?: Rows };

/** The commands that are in this group, by their names, unless they name another group. */
export const inGroup = <const Rows extends GivenRows>(group: string, rows: Rows): Group<Rows> =>
  Object.entries<GivenRow>(rows).map(([name, { options = {}, ...row }]) => ({
    ...{ name, group, ...row },
    options: rowsOf(options),
  }));
