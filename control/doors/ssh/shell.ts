import { shellWord } from "../../../common/shell-word.ts";

/** The command that runs a script with arguments, whatever shell it is handed to. */
export const scriptCommand = (
  shell: "sh" | "bash",
  script: string,
  args: readonly string[],
): string => [shell, "-c", script, shell, ...args].map(shellWord).join(" ");
