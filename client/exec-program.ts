import { fail } from "../common/errors.ts";
import { type Program, programArgs } from "../common/programs.ts";
import type { Env } from "./settings.ts";

/** Turns this process into another program of ours, so that its pid and its signals are that one's. */
export function execProgram(program: Program, words: readonly string[], env: Env): never {
  const { execPath, execve } = process;
  if (execve === undefined)
    fail("NotSupportedError", "this Node.js has no execve; take 24 or later");
  // What is behind `--` Node.js does not take for options of its own, such as `--env-file`.
  const args = [...programArgs(program).toSpliced(-1, 0, "--"), ...words];
  execve(execPath, [execPath, ...args], { ...env } as NodeJS.ProcessEnv);
  return fail("InternalError", `the ${program} did not take over`);
}
