import { stripVTControlCharacters } from "node:util";
import type { Paint, Style } from "./terminal.ts";

/** A column of a table. Of the columns that `give`, the widest is cut first where room is short. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly style?: (row: Row) => Style | undefined;
  readonly right?: true;
  readonly gives?: true;
}

const gap = "  ";
const narrowest = 6;

/** A table that fits the width: it cuts with an ellipsis and never wraps. */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { width, paint }: { width: number; paint: Paint },
): string {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.text(row))));
  const widths = fit(columns, cells, width);
  const place = (text: string, index: number) => {
    const shown = cut(text, widths[index] ?? 0);
    const pad = " ".repeat(Math.max(0, (widths[index] ?? 0) - lengthOf(shown)));
    return columns[index]?.right ? `${pad}${shown}` : `${shown}${pad}`;
  };
  const line = (texts: readonly string[], style: (index: number) => Style | undefined) => {
    const placed = texts.map((text, index) => {
      const last = index === texts.length - 1 && !columns[index]?.right;
      const shown = last ? place(text, index).trimEnd() : place(text, index);
      const wanted = style(index);
      return wanted === undefined ? shown : paint(wanted, shown);
    });
    return clip(placed, widths, width);
  };
  const titles = columns.map(({ title }) => title);
  const body = rows.map((row, at) => line(cells[at] ?? [], (i) => columns[i]?.style?.(row)));
  return [line(titles, () => "bold"), ...body].join("\n");
}

/** The width of each column, cut where they are wider than the room. */
function fit<Row>(columns: readonly Column<Row>[], cells: string[][], width: number): number[] {
  const widths = columns.map((column, index) =>
    Math.max(lengthOf(column.title), ...cells.map((row) => lengthOf(row[index] ?? ""))),
  );
  const total = () => widths.reduce((sum, one) => sum + one, gap.length * (widths.length - 1));
  while (total() > width) {
    const able = columns.map((column, index) => (column.gives ? (widths[index] ?? 0) : 0));
    const widest = able.indexOf(Math.max(...able));
    const now = able[widest] ?? 0;
    if (now <= narrowest) break;
    widths[widest] = Math.max(narrowest, now - (total() - width));
  }
  return widths;
}

/** Leaves out the columns at the end that no longer fit at all; the first one always shows. */
function clip(placed: readonly string[], widths: readonly number[], width: number): string {
  let used = 0;
  const shown = placed.filter((_, index) => {
    used += (widths[index] ?? 0) + (index === 0 ? 0 : gap.length);
    return index === 0 || used <= width;
  });
  return shown.join(gap).trimEnd();
}

const lengthOf = (text: string) => [...stripVTControlCharacters(text)].length;
const oneLine = (text: string) => stripVTControlCharacters(text).replace(/\s+/g, " ").trim();

/** The text, cut with an ellipsis where it is longer than the room. */
export function cut(text: string, width: number): string {
  if (lengthOf(text) <= width) return text;
  return `${[...text].slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** Label and value a line, the values below one another; empty ones are left out. */
export function sheet(facts: readonly (readonly [string, string])[], paint: Paint): string {
  const told = facts.filter(([, value]) => value !== "");
  const width = Math.max(...told.map(([label]) => label.length));
  return told.map(([label, value]) => `${paint("dim", label.padEnd(width))}  ${value}`).join("\n");
}

const spans = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

/** A duration with its two largest units: `2h 5m`; `-` when there is none. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || seconds < 0) return "-";
  let rest = Math.floor(seconds);
  const parts = spans.flatMap(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count > 0 ? [`${count}${unit}`] : [];
  });
  return parts.slice(0, 2).join(" ") || "0s";
}

/** How long ago an instant was, in its largest unit: `5m ago`; `-` when it never was. */
export function ago(seconds: number | null | undefined, now: Date): string {
  if (!seconds) return "-";
  const passed = Math.max(0, now.getTime() / 1_000 - seconds);
  return passed < 1 ? "just now" : `${duration(passed).split(" ")[0]} ago`;
}

const good: Style = "green";
const under: Style = "cyan";
const off: Style = "dim";
const bad: Style = "red";

const statusStyles: Readonly<Record<string, Style>> = {
  ...{ UP: good, SUCCEEDED: good, READY: good, healthy: good },
  ...{ INIT: under, PENDING: under, SETTING_UP: under, RUNNING: under, AUTOSTOPPING: under },
  ...{ STOPPED: off, CANCELLED: off, TERMINATED: off },
  ...{ FAILED: bad, FAILED_SETUP: bad, FAILED_DRIVER: bad },
};

/** The colour of a status, the same for every noun. */
export const styleOfStatus = (status: string): Style | undefined => statusStyles[status];

/** `1 cluster`, `2 clusters`. */
export const count = (many: number, noun: string): string =>
  `${many} ${noun}${many === 1 ? "" : "s"}`;
