import { stripVTControlCharacters } from "node:util";

const linesAtMost = 20;
const lineAtMost = 200;
const control = /[^\P{Cc}\t]/gu;

/** The last lines of what a node says that a hook printed: few, short, and without power over terminals. */
export function excerptOf(tail: string): string {
  const lines = tail
    .slice(-linesAtMost * lineAtMost)
    .split("\n")
    .map(shown);
  return lines
    .filter((line) => line.trim() !== "")
    .slice(-linesAtMost)
    .join("\n");
}

const shown = (line: string): string =>
  stripVTControlCharacters(line).replace(control, "").slice(0, lineAtMost);
