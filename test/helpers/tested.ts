import { join } from "node:path";
import { type Program, programArgs } from "../../common/programs.ts";

/** Bundles of this very code, where `test/run` has made them; the programs start three times as fast. */
const bundles = process.env["BUNDLES"];

/** The file that a program under test starts from; of the command line it is `outrigger`. */
export const mainOf = (program: Program | "outrigger"): string =>
  bundles === undefined ? sourceOf(program) : join(bundles, `${program}.mjs`);

/** The arguments that Node.js runs a program under test with. */
export const testedArgs = (program: Program): string[] =>
  programArgs(program).with(-1, mainOf(program));

const sourceOf = (program: Program | "outrigger"): string =>
  program === "outrigger"
    ? join(import.meta.dirname, "../../client/main.ts")
    : (programArgs(program).at(-1) ?? "");
