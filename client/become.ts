import { fail } from "../common/errors.ts";
import { type Program, programArgs } from "../common/programs.ts";
import type { Env } from "./settings.ts";

/** Turns this process into another program of ours, so that its pid and its signals are that one's. */
export function become(program: Program, words: readonly string[], env: Env): never {
  const { execPath, execve } = process;
  if (execve === undefined)
    fail("NotSupportedError", "this Node.js has no execve; take 24 or later");
  execve(execPath, [execPath, ...programArgs(program), ...words], { ...env } as NodeJS.ProcessEnv);
  return fail("InternalError", `the ${program} did not take over`);
}
