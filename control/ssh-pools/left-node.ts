import type { Context } from "../context.ts";
import { agentBehind } from "../doors/agent.ts";
import { openHostDoor, removeNodeOn } from "../doors/ssh/agent-service.ts";
import { findOccupant } from "../doors/ssh/occupant.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";

/**
 * Removes the node that a host was to a cluster that is gone. The host was out of reach then, so it may have the end
 * of the log of a managed job, which is fetched first.
 */
export async function removeLeftNode(
  ctx: Context,
  reached: ReachedHost,
  signal: AbortSignal,
): Promise<void> {
  await fetchRest(ctx, reached, signal);
  await removeNodeOn(reached, signal);
}

/** Copies what a host has of logs of managed jobs that control lacks, if its agent still runs. */
export async function fetchRest(
  ctx: Context,
  reached: ReachedHost,
  signal: AbortSignal,
): Promise<void> {
  const occupant = await findOccupant(reached, signal);
  if (occupant?.rank !== 0) return;
  const door = openHostDoor(async () => reached);
  try {
    await ctx.jobLogs.rest(occupant.clusterId, agentBehind(door, "the agent of the host"), signal);
  } finally {
    await door.destroy();
  }
}
