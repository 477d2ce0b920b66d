import { join } from "node:path";
import { fail } from "../../common/errors.ts";
import type { Entry } from "../../contract/files-api.ts";
import type { Agent } from "../context.ts";
import { isWithin, realOf } from "../files/ledger.ts";
import { activeJobs } from "../idle.ts";
import { dissolveMount, isServed } from "./mount.ts";
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
  if (!(await dissolveMount(agent, row)))
    fail("ConflictError", `${root} cannot be unmounted; end what uses it`);
  dropMount(agent, root);
}

/** A mount that nothing serves writes no more. */
async function writeBack(agent: Agent, row: MountRow): Promise<void> {
  const patience = isServed(row) ? AbortSignal.timeout(writeMs) : AbortSignal.abort();
  const result = await untilWrittenBack(agent, AbortSignal.any([patience, agent.stopping]), {
    rows: [row],
  });
  agent.stopping.throwIfAborted();
  if (result !== undefined) tellWriteBack(agent, result);
}

/** Files come to a path: a mount there is taken away. Throws `ConflictError` where they would go into a bucket. */
export async function makeWayForFiles(
  agent: Agent,
  root: string,
  entries: Iterable<Entry>,
): Promise<void> {
  if (listMountRows(agent).length === 0) return;
  await leaveMount(agent, root);
  const rows = listMountRows(agent);
  const folder = realOf(root);
  const isInTheWay = (mount: string, place: string, kind: Entry["kind"]) =>
    isWithin(mount, place) && (place !== mount || kind !== "folder");
  const places = [...entries].map(({ path, kind }) => ({ place: join(folder, path), kind }));
  for (const row of rows)
    if (
      isWithin(row.root, folder) ||
      places.some((one) => isInTheWay(row.root, one.place, one.kind))
    )
      fail("ConflictError", `${row.root} is in the way: ${row.order.name} is mounted there`);
}

/** Whether a path below a destination is a mount or lies within one: what is there belongs to the bucket. */
export function isMounted(agent: Agent, root: string): (path: string) => boolean {
  const mounts = listMountRows(agent).map((row) => row.root);
  const folder = mounts.length > 0 ? realOf(root) : root;
  return (path) => mounts.some((mount) => isWithin(mount, join(folder, path)));
}
