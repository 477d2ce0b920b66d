import { readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { ifPossible } from "../common/errors.ts";
import type { Gap } from "../contract/hooks.ts";

/** Beside a log whose middle was left out: a link to `from-to`. */
const nameOf = (path: string): string => `${path}.gap`;

/** What was left out of the log of a job, if anything was. */
export function findGap(path: string): Gap | undefined {
  const link = ifPossible(() => readlinkSync(nameOf(path)));
  if (link === undefined) return undefined;
  const [from = 0, to = 0] = link.split("-").map(Number);
  return { from, to };
}

/** Writes what is left out of a log. */
export function writeGap(path: string, { from, to }: Gap): void {
  rmSync(`${nameOf(path)}.new`, { force: true });
  symlinkSync(`${from}-${to}`, `${nameOf(path)}.new`);
  renameSync(`${nameOf(path)}.new`, nameOf(path));
}

/** Whether a place lies where bytes were left out. */
export const isIn = (gap: Gap | undefined, at: number): gap is Gap =>
  gap !== undefined && at >= gap.from && at < gap.to;
