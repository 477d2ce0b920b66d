import { fail } from "../../common/errors.ts";
import type { Agent } from "../context.ts";
import { isWithin } from "../files/ledger.ts";
import { endMount } from "./mount.ts";
import { dropMount, listMountRows } from "./store.ts";

/** Takes the mount of a path away for good, if there is one. Throws `ConflictError` for one that is in use. */
export async function leaveMount(agent: Agent, root: string): Promise<void> {
  const row = listMountRows(agent).find((one) => one.root === root);
  if (row === undefined) return;
  if (!(await endMount(agent, row)))
    fail("ConflictError", `${root} cannot be unmounted; end what uses it`);
  dropMount(agent, root);
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
  const places = [root, ...Iterator.from(paths).map((path) => `${root}/${path}`)];
  for (const row of rows)
    if (row.root !== root && places.some((place) => isWithin(row.root, place)))
      fail("ConflictError", `${row.root} is in the way: ${row.order.name} is mounted there`);
}
