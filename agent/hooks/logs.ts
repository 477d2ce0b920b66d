import {
  appendFileSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileSizeOf, unlessMissing } from "../../common/files.ts";
import { readBytes } from "../../common/growing-file.ts";
import { product } from "../../common/product.ts";
import { gapOf, type HookEvent } from "../../contract/hooks.ts";
import { type Agent, keys } from "../context.ts";
import { hooksFolderOf, lifecycleFolderOf } from "../folders.ts";
import type { LifecycleRow } from "../lifecycles/row.ts";

/** How many earlier logs of an event are kept. */
const formerLogs = 5;
const tailBytes = 64 * 1024;

/**
 * The log of an event in a lifecycle. It is one file with two names: this one lasts as long as the
 * lifecycle is known, the one for people is moved aside when another lifecycle begins its own.
 */
export const hookLogOf = (agent: Pick<Agent, "config">, id: string, event: HookEvent): string =>
  join(lifecycleFolderOf(agent, id), `${event}.log`);

/** The log without what was left out of it; the first name is gone then. */
export const keptLogOf = (agent: Pick<Agent, "config">, id: string, event: HookEvent): string =>
  join(lifecycleFolderOf(agent, id), `${event}.kept`);

/** Begins the log of an event unless the lifecycle has, moving former ones aside; answers its path. */
export function beginHookLog(agent: Agent, { id, logs }: LifecycleRow, event: HookEvent): string {
  const path = hookLogOf(agent, id, event);
  if (logs.some((log) => log.event === event)) return path;
  mkdirSync(lifecycleFolderOf(agent, id), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
  const folder = hooksFolderOf(agent);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (findLogName(folder, event, path) !== undefined) return path;
  for (const kind of ["log", "json"]) moveAside(join(folder, `${event}.${kind}`));
  linkSync(path, join(folder, `${event}.log`));
  agent.changes.notify(keys.log(path));
  return path;
}

/** Appends a line of ours, unless one that begins with the same words is there already. */
export function appendHookLine(path: string, subject: string, predicate: string): void {
  const begin = `[${product.word}] ${subject} `;
  const from = Math.max(0, statSync(path).size - tailBytes);
  const tail = readBytes(path, from, tailBytes).toString();
  if (tail.includes(begin + predicate.split(" ")[0])) return;
  const before = tail === "" || tail.endsWith("\n") ? "" : "\n";
  appendFileSync(path, `${before}${begin}${predicate}\n`);
}

/** Writes beside the log, for programs, how the hooks of its event fare. */
export function writeSideFile(agent: Agent, row: LifecycleRow, event: HookEvent): void {
  const folder = hooksFolderOf(agent);
  const paths = [hookLogOf(agent, row.id, event), keptLogOf(agent, row.id, event)];
  const name = paths.map((path) => findLogName(folder, event, path)).find(Boolean);
  if (name === undefined) return;
  const { id, because, cause, startedAt } = row;
  const runs = row.runs.filter((run) => run.event === event);
  // A node that goes never learns when its lifecycle has ended.
  const isOver = row.logs.some((log) => log.event === event && log.sizeBytes !== null);
  const endedAt = row.endedAt ?? (isOver ? (runs.at(-1)?.endedAt ?? null) : null);
  const hooks = runs.map(({ event: _, startedMs: __, ending: ___, logFrom: ____, ...run }) => run);
  const bytes = sizeOfHookLog(agent, row, event);
  const gap = gapOf(bytes, isOver);
  const truncated = gap === undefined ? 0 : gap.to - gap.from;
  const facts = {
    lifecycle: id,
    event,
    cause,
    because,
    startedAt,
    endedAt,
    hooks,
    bytes,
    truncated,
  };
  const path = join(folder, name.replace(`${event}.log`, `${event}.json`));
  writeFileSync(`${path}.new`, `${JSON.stringify(facts, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** How many bytes were written to a log, those that were left out as well. */
export function sizeOfHookLog(
  agent: Pick<Agent, "config">,
  { id, logs }: Pick<LifecycleRow, "id" | "logs">,
  event: HookEvent,
): number {
  const known = logs.find((log) => log.event === event)?.sizeBytes;
  return known ?? fileSizeOf(hookLogOf(agent, id, event));
}

/** The name for people of the file at `path`, or undefined. */
export function findLogName(folder: string, event: HookEvent, path: string): string | undefined {
  const inode = inodeOf(path);
  const names = ["", ...formerSuffixes].map((suffix) => `${event}.log${suffix}`);
  return inode === undefined
    ? undefined
    : names.find((name) => inodeOf(join(folder, name)) === inode);
}

const formerSuffixes = Array.from({ length: formerLogs }, (_, index) => `.${index + 1}`);

const inodeOf = (path: string): number | undefined =>
  statSync(path, { throwIfNoEntry: false })?.ino;

function moveAside(path: string): void {
  const names = ["", ...formerSuffixes].map((suffix) => path + suffix);
  rmSync(names.at(-1) ?? path, { force: true });
  for (let index = names.length - 1; index > 0; index -= 1)
    unlessMissing(() => renameSync(names[index - 1] ?? path, names[index] ?? path));
}
