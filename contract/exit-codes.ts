/** What exit codes say by themselves; shells add 128 to the number of the signal that ended a process. */
export const exitCodeMeanings: Readonly<Record<number, string>> = {
  126: "found, but not executable",
  127: "command not found",
  129: "ended by SIGHUP",
  130: "interrupted by SIGINT",
  132: "crashed: illegal instruction, SIGILL",
  134: "aborted itself: SIGABRT",
  135: "crashed: bus error, SIGBUS",
  136: "crashed: arithmetic error, SIGFPE",
  137: "killed by SIGKILL, perhaps out of memory",
  139: "crashed: invalid access to memory, SIGSEGV",
  141: "wrote to a closed pipe: SIGPIPE",
  143: "ended by SIGTERM",
};

/** How a process ended: `exited with 3`, `exited with 143 (ended by SIGTERM)`. */
export function exitedWith(code: number): string {
  const meaning = exitCodeMeanings[code];
  return `exited with ${code}${meaning === undefined ? "" : ` (${meaning})`}`;
}
