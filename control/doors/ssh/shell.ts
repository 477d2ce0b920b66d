/** A word as any shell of the Bourne family reads it back. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The command that runs a script with arguments, whatever shell it is handed to. */
export const scriptCommand = (
  shell: "sh" | "bash",
  script: string,
  args: readonly string[],
): string => [shell, "-c", script, shell, ...args].map(shellWord).join(" ");
