import { join } from "node:path";
import { fail } from "../../common/errors.ts";
import type { Agent } from "../context.ts";
import { isWithin, realOf } from "../files/ledger.ts";
import { activeJobs } from "../idle.ts";
import { endMount, isServed } from "./mount.ts";
import { dropMount, listMountRows, type MountRow } from "./store.ts";
import { tellWriteBack } from "./tell.ts";
import { untilWrittenBack } from "./unwritten.ts";

const writeMs = 60_000;

/**
 * Takes the mount of a path away for good, if there is one, once what was written to it is in the bucket; reports what
 * is not after a minute. Throws `ConflictError` for one that is in use.
 */
export async function leaveMount(agent: Agent, root: string): Promise<void> {
  const row = listMountRows(agent).find((one) => one.root === root);
  if (row === undefined) return;
  const [user] = activeJobs(agent);
  if (user !== undefined && isServed(row))
    fail(
      "ConflictError",
      `${row.order.name} is mounted at ${root} and ${user} may use it; wait until it ends, or use another path`,
    );
  await writeBack(agent, row);
  if (!(await endMount(agent, row)))
    fail("ConflictError", `${root} cannot be unmounted; end what uses it`);
  dropMount(agent, root);
}

/** A mount that nothing serves writes no more. */
async function writeBack(agent: Agent, row: MountRow): Promise<void> {
  const patience = isServed(row) ? AbortSignal.timeout(writeMs) : AbortSignal.abort();
  const result = await untilWrittenBack(agent, AbortSignal.any([patience, agent.stopping]), [row]);
  agent.stopping.throwIfAborted();
  if (result !== undefined) tellWriteBack(agent, result);
}

/** Files come to a path: a mount there is taken away. Throws `ConflictError` where they would go into a bucket. */
export async function makeWayForFiles(
  agent: Agent,
  root: string,
  paths: Iterable<string>,
): Promise<void> {
  const rows = listMountRows(agent);
  if (rows.length === 0) return;
  await leaveMount(agent, root);
  const folder = realOf(root);
  const places = [folder, ...Iterator.from(paths).map((path) => join(folder, path))];
  for (const row of rows)
    if (row.root !== root && places.some((place) => isWithin(row.root, place)))
      fail("ConflictError", `${row.root} is in the way: ${row.order.name} is mounted there`);
}
