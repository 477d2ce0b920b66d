import { neutraliseText } from "../wire/neutralise.ts";
import type { RequestLogs } from "./log.ts";

/**
 * How the work on a request prints whole lines into its log. A second attempt goes the way of the
 * first and prints the same; a line that is there already is not written again.
 */
export function printerOf(logs: RequestLogs, id: string): (text: string) => void {
  let there: Map<string, number> | undefined;
  return (text) => {
    const lines = linesOf(neutraliseText(text));
    if (lines.length === 0) return;
    const before = there ?? countsOf(linesOf(logs.read(id)));
    there = before;
    const news = lines.filter((line) => !takeOut(before, line));
    if (news.length > 0) logs.append(id, news.join(""));
  };
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function countsOf(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** Takes one of a line away; false when there is none left. */
function takeOut(counts: Map<string, number>, line: string): boolean {
  const left = counts.get(line) ?? 0;
  if (left === 0) return false;
  counts.set(line, left - 1);
  return true;
}
