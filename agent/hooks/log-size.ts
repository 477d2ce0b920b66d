import { existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileSizeOf } from "../../common/files.ts";
import { punchHole, readOpen } from "../../common/growing-file.ts";
import { type Gap, gapLine, gapOf, type HookEvent } from "../../contract/hooks.ts";
import { type Agent, keys } from "../context.ts";
import { hooksFolderOf } from "../folders.ts";
import { getRow, writeLifecycle } from "../lifecycles/lifecycles.ts";
import type { LifecycleRow } from "../lifecycles/row.ts";
import { findLifecycle } from "../lifecycles/store.ts";
import { resumeRewrite, rewriteLog } from "./log-rewrite.ts";
import { findLogName, hookLogOf, keptLogOf, sizeOfHookLog, writeSideFile } from "./logs.ts";

const lookEveryMs = 200;
const blockBytes = 1024 * 1024;

/**
 * Keeps the logs of a lifecycle small while its hooks write: what need not be kept is punched out of
 * the file, which leaves every byte where it was. Goes on until the signal.
 */
export async function keepLogsSmall(agent: Agent, id: string, signal: AbortSignal): Promise<never> {
  // Only where a killed agent may have begun: who looks for writers keeps a first hook waiting.
  for (const { event } of findLifecycle(agent, id)?.logs ?? [])
    resumeRewrite(hookLogOf(agent, id, event));
  const leftOut = new Map<HookEvent, number>();
  const tried = new Set<HookEvent>();
  for (;;) {
    await agent.changes.until(keys.lifecycle, async () => isWritten(agent, id), signal);
    await sleep(lookEveryMs, undefined, { signal });
    for (const { event, sizeBytes } of findLifecycle(agent, id)?.logs ?? []) {
      const path = hookLogOf(agent, id, event);
      const size = sizeBytes ?? fileSizeOf(path);
      const gap = sizeBytes === null ? gapOf(size, false) : undefined;
      if (gap === undefined || gap.to <= (leftOut.get(event) ?? 0)) continue;
      if (await leaveOut(agent, path, gap, !tried.has(event))) leftOut.set(event, gap.to);
      tried.add(event);
    }
  }
}

/** Whether the bytes take no room on disk any more; what cannot be done now is tried again. */
export async function leaveOut(
  agent: Agent,
  path: string,
  gap: Gap,
  isFirst: boolean,
): Promise<boolean> {
  try {
    await punchHole(path, gap);
    return true;
  } catch (error) {
    if (isFirst) agent.log.warn({ path, error }, "holes cannot be punched; rewriting the log");
  }
  try {
    await rewriteLog(agent, path, gap);
    return true;
  } catch (error) {
    agent.log.debug({ path, error }, "the log cannot be rewritten yet; trying again");
    return false;
  }
}

/** Nobody writes the logs of a lifecycle any more: their sizes are known, and only what is kept stays. */
export async function closeLogs(agent: Agent, id: string): Promise<void> {
  const before = getRow(agent, id);
  const logs = before.logs.map(({ event }) => ({
    event,
    sizeBytes: sizeOfHookLog(agent, before, event),
  }));
  const row = writeLifecycle(agent, { ...before, logs });
  for (const { event } of logs) {
    try {
      await compactLog(agent, row, event);
      writeSideFile(agent, row, event);
    } catch (error) {
      agent.log.warn({ lifecycle: id, event, error }, "the log of hooks stays as it is");
    }
  }
}

/** Writes what is kept of a log in place of the whole. Repeatable. */
async function compactLog(
  agent: Agent,
  { id, logs }: LifecycleRow,
  event: HookEvent,
): Promise<void> {
  const whole = hookLogOf(agent, id, event);
  const kept = keptLogOf(agent, id, event);
  const size = logs.find((log) => log.event === event)?.sizeBytes ?? 0;
  const gap = gapOf(size, true);
  if (gap === undefined || !existsSync(whole)) return;
  if (!existsSync(kept)) await writeKept(whole, kept, gap, size);
  const folder = hooksFolderOf(agent);
  const name = findLogName(folder, event, whole);
  if (name !== undefined) {
    rmSync(`${kept}.link`, { force: true });
    linkSync(kept, `${kept}.link`);
    renameSync(`${kept}.link`, join(folder, name));
  }
  rmSync(whole);
}

/** Where a byte of the log lies in the file without the gap. */
export const placeInKept = (gap: Gap, offset: number): number =>
  offset < gap.to ? offset : offset - gap.to + gap.from + Buffer.byteLength(gapLine(gap));

const isWritten = (agent: Agent, id: string): true | undefined =>
  findLifecycle(agent, id)?.logs.some(({ sizeBytes }) => sizeBytes === null) || undefined;

async function writeKept(whole: string, kept: string, gap: Gap, size: number): Promise<void> {
  await using from = await open(whole);
  await using to = await open(`${kept}.new`, "w", 0o600);
  const block = Buffer.allocUnsafe(blockBytes);
  const copy = async (start: number, end: number) => {
    for await (const chunk of readOpen(from, start, end, block)) await to.writeFile(chunk);
  };
  await copy(0, gap.from);
  await to.writeFile(gapLine(gap));
  await copy(gap.to, size);
  renameSync(`${kept}.new`, kept);
}
