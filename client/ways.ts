import type { Terminal } from "./terminal.ts";

/** Says by which commands the reader goes on, each behind what it is for: `logs`, `outrigger jobs logs 3`. */
export function tellCommands(
  terminal: Terminal,
  ways: readonly (readonly [label: string, command: string])[],
): void {
  for (const [label, command] of ways)
    terminal.note(`  ${terminal.paintNote("dim", label.padEnd(8))}${command}`);
}
