import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/** How a program is started that outlives the one that starts it. */
export interface Detached {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** File for what it prints. */
  readonly log: string;
}

/** The first file descriptor that a program inherits besides those of its output. */
export const firstInherited = 3;

/**
 * Starts a program in a session of its own; it inherits these file descriptors, from `firstInherited` on. An `error` of
 * the process is the caller's to handle.
 */
export function startDetached(
  { command, cwd, env, log }: Detached,
  inherited: readonly number[] = [],
): ChildProcess {
  const [file = "", ...args] = command;
  const output = openSync(log, "a", 0o600);
  const stdio = ["ignore" as const, output, output, ...inherited];
  const child = spawn(file, args, { cwd, env, detached: true, stdio });
  child.unref();
  closeSync(output);
  return child;
}
