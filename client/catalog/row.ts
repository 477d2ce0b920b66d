import type { Run } from "../world.ts";
import { type OptionRow, type Options, rowsOf } from "./options.ts";

/** A command: all that help, parsing and completion need, and how to get at its code. */
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
  /** It reads its words itself, those that ask for help among them; none is an option of ours. */
  readonly readsItself?: true;
  /** The command's own code, loaded only when it is to run. */
  readonly load: () => Promise<Code>;
}

/** The code of a command, which knows what its options give. */
export type Code = Run<never>;

/** A command as the catalog has it, in a list of its group. */
interface GivenRow extends Omit<CommandRow, "group" | "options"> {
  readonly group?: string;
  readonly options?: Options;
}

/** The commands of a group; the type tells what each was given. */
export type Group<Rows = readonly GivenRow[]> = readonly CommandRow[] & { readonly given?: Rows };

/** The rows of commands that are in this group, unless they name another. */
export const inGroup = <const Rows extends readonly GivenRow[]>(
  group: string,
  rows: Rows,
): Group<Rows> =>
  rows.map(({ options = {}, ...row }) => ({ group, ...row, options: rowsOf(options) }));
