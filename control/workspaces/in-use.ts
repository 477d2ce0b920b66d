import { isDeepStrictEqual } from "node:util";
import { fail } from "../../common/errors.ts";
import type { WorkspaceConfig } from "../../contract/records/workspaces.ts";
import type { Connection } from "../db/open.ts";
import { findKnown } from "../users/store.ts";
import { isOpenTo } from "./membership.ts";
import type { Workspaces } from "./schema.ts";
import { type LiveThing, listLiveThings } from "./store.ts";

/** What may change of a workspace that is in use: its members, and what holds for new launches alone. */
const changeable = [
  ...["private", "allowed_users", "allowed_groups", "allowed_infra", "resources", "limits"],
];

/** Throws `ValueError` for a change of workspaces that what is live in them forbids, and names that. */
export async function refuseInUse(
  tx: Connection,
  before: Workspaces,
  after: Workspaces,
): Promise<void> {
  for (const name of Object.keys({ ...before, ...after })) {
    const [was = {}, now] = [before[name], after[name]];
    if (isDeepStrictEqual(was, now)) continue;
    const things = await listLiveThings(tx, name);
    if (things.length === 0) continue;
    if (now === undefined) refuseUsed(name, "cannot be deleted while it is in use", things);
    if (!isDeepStrictEqual(fixedPart(was), fixedPart(now)))
      refuseUsed(name, `can only change ${changeable.join(", ")} while it is in use`, things);
    const leftOut = now.private ? await leftOutOf(tx, now, things) : [];
    if (leftOut.length > 0) refuseUsed(name, "would lock out users who use it", leftOut);
  }
}

const fixedPart = (config: WorkspaceConfig) =>
  Object.entries(config).filter(([key]) => !changeable.includes(key));

/** What belongs to users who could not use the workspace any more. */
async function leftOutOf(
  tx: Connection,
  config: WorkspaceConfig,
  things: readonly LiveThing[],
): Promise<LiveThing[]> {
  const leftOut: string[] = [];
  for (const id of new Set(things.map(({ user }) => user.id))) {
    const user = (await findKnown(tx, id))?.user;
    if (user !== undefined && user.role !== "admin" && !isOpenTo(user, config)) leftOut.push(id);
  }
  return things.filter(({ user }) => leftOut.includes(user.id));
}

const namedAtMost = 10;

/** `workspace research cannot be deleted while it is in use: clusters dev (ana), train (bob)`. */
function refuseUsed(workspace: string, why: string, things: readonly LiveThing[]): never {
  const nouns = ["cluster", "service", "pool", "managed job", "storage", "volume"] as const;
  const named = nouns.flatMap((noun) => {
    const all = things.filter((thing) => thing.noun === noun);
    const names = all.slice(0, namedAtMost).map(({ name, user }) => `${name} (${user.name})`);
    const more = all.length > namedAtMost ? ` and ${all.length - namedAtMost} more` : "";
    return all.length === 0 ? [] : [`${noun}s ${names.join(", ")}${more}`];
  });
  fail("ValueError", `workspace ${workspace} ${why}: ${named.join("; ")}`);
}
