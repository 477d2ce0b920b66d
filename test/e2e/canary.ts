import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { listProcesses } from "../../common/process-tree.ts";
import { commandOf } from "../helpers/programs.ts";
import { mainOf } from "../helpers/tested.ts";

/** A value that is looked for wherever it must not be, and where it may be. */
export interface Canary {
  readonly what: string;
  readonly value: string;
}

/** Values that nothing else contains, by the place that each is put into. */
export function openCanaries() {
  const all: Canary[] = [];
  return {
    all,
    /** A new value; its place is named once. */
    of(what: string): string {
      const value = `canary-${randomBytes(12).toString("hex")}`;
      all.push({ what, value });
      return value;
    },
  };
}

/** How a value may be written: as it is, in a URL, as base64 wherever in a longer text, and as hex. */
function formsOf(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  return [value, bytes.toString("hex"), ...shifted].map((form) => Buffer.from(form));
}

/** A place that holds a canary: a file, a part of a process, an answer. */
export interface Found {
  readonly what: string;
  readonly place: string;
}

/** Looks for canaries in texts by their places. */
export function findIn(canaries: readonly Canary[], places: Iterable<[string, Buffer]>): Found[] {
  const sought = canaries.map(({ what, value }) => ({ what, forms: formsOf(value) }));
  return [...places].flatMap(([place, content]) =>
    sought
      .filter(({ forms }) => forms.some((form) => content.includes(form)))
      .map(({ what }) => ({ what, place })),
  );
}

/** Every file below a folder. */
export function* filesBelow(folder: string): Generator<[string, Buffer]> {
  for (const entry of orIfGone(() => readdirSync(folder, { withFileTypes: true })) ?? []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    const content = entry.isFile() ? orIfGone(() => readFileSync(path)) : undefined;
    if (content !== undefined) yield [path, content];
  }
}

/** The command line and the environment of every process but this one, by our program that it is. */
export function* processes(): Generator<[string, Buffer]> {
  for (const { pid } of listProcesses())
    for (const part of pid === process.pid ? [] : ["cmdline", "environ"]) {
      const content = orIfGone(() => readFileSync(`/proc/${pid}/${part}`));
      if (content !== undefined) yield [`${part} of ${programOf(pid)}`, content];
    }
}

const programs = ["control", "balancer", "agent", "sidecar", "outrigger"] as const;

/** One of our programs, or a workload: whatever a node runs for its user, what keeps its log included. */
function programOf(pid: number): string {
  const command = commandOf(pid).split("\0");
  return programs.find((program) => command.includes(mainOf(program))) ?? "a workload";
}

/** Whether others on the machine could read a file, going by its own mode. */
export const isPrivate = (file: string): boolean => (statSync(file).mode & 0o077) === 0;

/** Files and processes may go while they are looked at. */
function orIfGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
