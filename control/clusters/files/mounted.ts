import { fail } from "../../../common/errors.ts";
import { type MountOrder, mountOperations } from "../../../contract/mounts-api.ts";
import { openBucket } from "../../buckets/stores.ts";
import type { Agent } from "../../doors/agent.ts";
import type { Ground } from "../../ground.ts";
import type { MountedParcel } from "./parcels.ts";

/** How long a program may take until a bucket is there. */
const mountMs = 3 * 60_000;

/**
 * How a node mounts a bucket. Throws `PermissionDeniedError` and `NotFoundError` where nobody can list it with the keys
 * of the task: a node would see an empty folder.
 */
export async function mounting(
  ctx: Pick<Ground, "config" | "now">,
  { name, destination, mounted }: MountedParcel,
  signal: AbortSignal,
) {
  const { uri, keys, readOnly, cache } = mounted;
  const opened = openBucket(ctx, uri, keys ?? "none");
  await opened.bucket.find("", signal).catch((error: unknown) => {
    const isDenied = error instanceof Error && error.name === "PermissionDeniedError";
    if (keys === undefined && isDenied) refuseWithoutKeys(name, uri);
    throw error;
  });
  const { bucket, region, endpoint } = opened.address;
  const order: MountOrder = {
    ...{ destination, name: opened.name, readOnly, cache, bucket, region },
    endpoint: endpoint.replace("{region}", region),
    keys: keys ?? null,
  };
  return async (agent: Agent, until: AbortSignal): Promise<string> => {
    const options = { signal: until, timeoutMs: mountMs };
    const { program } = await agent.call(mountOperations.putMount, order, options);
    return `${order.name} mounted with ${program}`;
  };
}

/** Jobs on a node can read the keys of its mounts, so control never sends its own. */
export const refuseWithoutKeys = (name: string, uri: string): never =>
  fail(
    "PermissionDeniedError",
    `${name}: ${uri} is not public, and a mount gives its keys to the nodes: pass keys of the task as secrets; those of control are for copies`,
    { bucket: uri },
  );
