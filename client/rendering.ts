import { stripVTControlCharacters } from "node:util";
import type { Paint, Style } from "./terminal.ts";

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly style?: (row: Row) => Style | undefined;
  readonly right?: true;
  /** How narrow it may become where room is short; as wide as its texts when absent. */
  readonly least?: number;
  /** Goes on below where room is short, and is cut nowhere. */
  readonly wraps?: true;
  /** Becomes narrower only once the others are as narrow as they may be. */
  readonly last?: true;
  /** Left out where room is still short, the last one of these first. */
  readonly spare?: true;
}

const gap = "  ";

/** A table that fits the width: it cuts with an ellipsis, leaves columns out, and wraps those alone that are to. */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { width, paint }: { width: number; paint: Paint },
): string {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.text(row))));
  const natural = columns.map(({ title }, index) =>
    cells.reduce((most, row) => Math.max(most, lengthOf(row[index] ?? "")), lengthOf(title)),
  );
  const widths = fit(columns, natural, width);
  const line = (texts: readonly string[], styleOf: (index: number) => Style | undefined) => {
    const placed = texts.flatMap((text, index) => {
      const [room = 0, style] = [widths[index], styleOf(index)];
      if (room === 0) return [];
      const shown = cut(text, room);
      const pad = " ".repeat(room - lengthOf(shown));
      const painted = style === undefined ? shown : paint(style, shown);
      return columns[index]?.right ? pad + painted : painted + pad;
    });
    return placed.join(gap).trimEnd();
  };
  const titles = columns.map(({ title }) => title);
  const body = rows.flatMap((row, at) => {
    const folded = (cells[at] ?? []).map((text, index) =>
      columns[index]?.wraps ? fold(text, widths[index] ?? 0) : [text],
    );
    const height = Math.max(...folded.map(({ length }) => length));
    return Array.from({ length: height }, (_, below) =>
      line(
        folded.map((lines) => lines[below] ?? ""),
        (index) => columns[index]?.style?.(row),
      ),
    );
  });
  return [line(titles, () => "bold"), ...body].join("\n");
}

/** A text in lines of a width, broken between words where that can be. */
function fold(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last === "") lines[lines.length - 1] = word;
    else if (lengthOf(last) + 1 + lengthOf(word) <= width) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return width === 0 ? lines : lines.flatMap((one) => pieces([...one], width));
}

const pieces = (letters: readonly string[], width: number): string[] =>
  letters.length <= width
    ? [letters.join("")]
    : [letters.slice(0, width).join(""), ...pieces(letters.slice(width), width)];

/** The width of each column; 0 for those that are left out. The first one always shows. */
function fit<Row>(
  columns: readonly Column<Row>[],
  natural: readonly number[],
  room: number,
): number[] {
  const least = columns.map(({ title, least: wanted }, index) => {
    const now = natural[index] ?? 0;
    return Math.min(now, Math.max(wanted ?? now, title.length), room);
  });
  const shown = [...columns.keys()];
  const lengthWith = (widths: readonly number[]) =>
    shown.reduce((sum, index) => sum + (widths[index] ?? 0) + gap.length, -gap.length);
  // Without a spare one the index is -1: the last one goes.
  while (shown.length > 1 && lengthWith(least) > room)
    shown.splice(
      shown.findLastIndex((index) => columns[index]?.spare),
      1,
    );
  const widths = natural.map((one, index) => (shown.includes(index) ? one : 0));
  const firstToShrink = (able: number[]) => {
    const others = able.filter((index) => !columns[index]?.last);
    return others.length > 0 ? others : able;
  };
  const excess = (index: number) => (widths[index] ?? 0) - (least[index] ?? 0);
  while (lengthWith(widths) > room) {
    const able = firstToShrink(shown.filter((index) => excess(index) > 0));
    const widest = able.reduce((a, b) => ((widths[b] ?? 0) > (widths[a] ?? 0) ? b : a));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

const isPlain = (text: string) => /^[\x20-\x7e]*$/.test(text);
const lengthOf = (text: string) =>
  isPlain(text) ? text.length : [...stripVTControlCharacters(text)].length;
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

/** A duration in its largest unit and the one below it: `2h 5m`, `3d 0h`, `42s`; `-` when there is none. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || seconds < 0) return "-";
  const largest = spans.findIndex(([, size]) => seconds >= size);
  const shown = largest < 0 ? spans.slice(-1) : spans.slice(largest, largest + 2);
  let rest = seconds;
  const parts = shown.map(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return `${count}${unit}`;
  });
  return parts.join(" ");
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
  ...{ RECOVERING: under, CANCELLING: under },
  ...{ CONTROLLER_INIT: under, REPLICA_INIT: under, PROVISIONING: under, STARTING: under },
  ...{ STOPPED: off, CANCELLED: off, TERMINATED: off, NO_REPLICA: off, SHUTTING_DOWN: off },
  ...{ NOT_READY: bad, PREEMPTED: bad, CONTROLLER_FAILED: bad },
};

/** The colour of a status, the same for every noun. */
export const styleOfStatus = (status: string): Style | undefined =>
  statusStyles[status] ?? (/^FAILED/.test(status) ? bad : undefined);

/** `2026-11-20 20:16:03`, in the reader's own time zone. */
export const localTime = (seconds: number) => new Date(seconds * 1_000).toLocaleString("sv-SE");
