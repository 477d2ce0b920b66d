import { spawnSync } from "node:child_process";

/** Runs a command to its end and returns what it prints; throws when it fails. */
export function run(command: string, words: readonly string[], cwd: string): string {
  const { status, error, stdout } = spawnSync(command, words, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${words.join(" ")} ended with code ${status}`);
  return stdout;
}
