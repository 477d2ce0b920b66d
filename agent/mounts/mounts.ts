import { setTimeout as sleep } from "node:timers/promises";
import { endFoundBy } from "../../common/end-processes.ts";
import { fail, toAppError } from "../../common/errors.ts";
import type { MountOrder, MountState } from "../../contract/mounts-api.ts";
import { type Agent, keys } from "../context.ts";
import { destinationOf } from "../files/destinations.ts";
import { clearFiles } from "../files/files.ts";
import { isWithin } from "../files/ledger.ts";
import { inTurn } from "../files/turns.ts";
import { activeJobs } from "../idle.ts";
import { refuseWhileLeaving } from "../lifecycles/lifecycles.ts";
import { findOpenLifecycle } from "../lifecycles/store.ts";
import { leaveMount } from "./leave.ts";
import { endMount, isServed, mount, setAside } from "./mount.ts";
import { listMountRows, type MountRow, saveMount } from "./store.ts";
import { tell, tellWriteBack } from "./tell.ts";
import { untilWrittenBack } from "./unwritten.ts";
import { listWriters } from "./writers.ts";

const lookEveryMs = 2_000;
/** How long a job waits for mounts that are not there. */
const patienceMs = 30_000;
const pollMs = 100;
/** What is ended because it writes has after TERM. */
const writerGraceMs = 5_000;

/**
 * Mounts a bucket from now on; one that is there as ordered stays, as does one that jobs may use and of which only
 * the keys differ. Throws as `mount` and `leaveMount`.
 */
export function putMount(agent: Agent, order: MountOrder): Promise<MountState> {
  const root = destinationOf(agent, order.destination);
  return inTurn(agent, async () => {
    refuseWhileLeaving(agent);
    const rows = listMountRows(agent);
    const before = rows.find((row) => row.root === root);
    if (before && isServed(before) && canStay(agent, before.order, order)) return stateOf(before);
    const around = rows.find((row) => row.root !== root && isWithin(row.root, root));
    if (around !== undefined)
      fail("ValueError", `${root} lies in ${around.root}, where ${around.order.name} is mounted`);
    await leaveMount(agent, root);
    await clearFiles(agent, root);
    const row = { order, root, problem: null, ...(await mount(agent, { order, root })) };
    saveMount(agent, row);
    agent.changes.notify(keys.mounts);
    return stateOf(row);
  });
}

/** New keys come with every launch that has a session: no job loses its mount for them. */
function canStay(agent: Agent, before: MountOrder, order: MountOrder): boolean {
  const keys = activeJobs(agent).length > 0 ? before.keys : order.keys;
  return JSON.stringify(before) === JSON.stringify({ ...order, keys });
}

/** The mounts of this node. */
export const readMounts = (agent: Agent): MountState[] => listMountRows(agent).map(stateOf);

const stateOf = (row: MountRow): MountState => ({
  ...{ destination: row.order.destination, name: row.order.name, program: row.program },
  problem: isServed(row) ? null : (row.problem ?? "it is not mounted now"),
});

/**
 * Sees to it that all mounts are there, for as long as the agent lives and the node does not leave: after the
 * node or the agent was away, and when the program of one ended. What died is told.
 */
export async function superviseMounts(agent: Agent): Promise<never> {
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<undefined> => {
    clearTimeout(timer);
    const rows = listMountRows(agent);
    if (rows.some((row) => !isServed(row))) await inTurn(agent, () => restoreAll(agent));
    if (rows.length > 0) timer = setTimeout(() => agent.changes.notify(keys.mounts), lookEveryMs);
  };
  try {
    return await agent.changes.until<never>(keys.mounts, look, agent.stopping);
  } finally {
    clearTimeout(timer);
  }
}

const isLeaving = (agent: Agent): boolean =>
  ["JOBS", "READY"].includes(findOpenLifecycle(agent)?.status ?? "");

async function restoreAll(agent: Agent): Promise<void> {
  for (const row of listMountRows(agent))
    if (!isServed(row) && !isLeaving(agent)) await restore(agent, row);
}

async function restore(agent: Agent, row: MountRow): Promise<void> {
  const { order, root, server, problem } = row;
  const what = `${order.name} at ${order.destination}`;
  try {
    await endMount(agent, { root, server });
    const aside = await setAside(root);
    if (aside !== undefined)
      tell(
        agent,
        "LOST",
        `what was written to ${root} while ${order.name} was not mounted is in ${aside}`,
      );
    saveMount(agent, { order, root, problem: null, ...(await mount(agent, row)) });
    tell(agent, "MOUNTED", `${what} was not mounted any more, and is again`);
  } catch (error) {
    agent.stopping.throwIfAborted();
    const { message } = toAppError(error);
    saveMount(agent, { ...row, problem: message });
    if (problem !== message) tell(agent, "LOST", `${what} is not mounted any more: ${message}`);
  }
}

/** Resolves once all mounts are there; why one is not, after half a minute. */
export async function untilMounted(agent: Agent): Promise<string | undefined> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const missing = listMountRows(agent).find((row) => !isServed(row));
    if (missing === undefined) return undefined;
    agent.changes.notify(keys.mounts);
    if (performance.now() > until) {
      const { order, problem } = missing;
      return `${order.name} is not mounted at ${order.destination}: ${problem ?? "it takes too long"}`;
    }
    await sleep(pollMs, undefined, { signal: agent.stopping });
  }
}

/** Takes mounts away while a node leaves, once what is written to them is in the buckets, or the time is over. */
export async function endMounts(agent: Agent, signal: AbortSignal): Promise<void> {
  await endWriters(agent);
  const result = await untilWrittenBack(agent, signal);
  agent.stopping.throwIfAborted();
  if (result !== undefined) tellWriteBack(agent, result);
  await inTurn(agent, async () => {
    for (const row of listMountRows(agent))
      if (!(await endMount(agent, row))) agent.log.warn({ root: row.root }, "a mount remains");
  });
}

/** A file is uploaded once it is closed, and jobs and hooks have ended: whatever else writes here would never end. */
async function endWriters(agent: Agent): Promise<void> {
  const roots = listMountRows(agent).map(({ root }) => root);
  if (roots.length === 0) return;
  await endFoundBy(() => listWriters(roots), writerGraceMs, agent.stopping);
}
