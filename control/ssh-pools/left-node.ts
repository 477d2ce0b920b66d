import type { Context } from "../context.ts";
import { agentBehind } from "../doors/agent.ts";
import { openHostDoor, removeNodeOn } from "../doors/ssh/agent-service.ts";
import { findOccupant } from "../doors/ssh/occupant.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";

/** A host is kept from others for so long at most. */
const restMs = 300_000;

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
  const limit = AbortSignal.any([signal, AbortSignal.timeout(restMs)]);
  const door = openHostDoor(async () => reached);
  try {
    await ctx.jobLogs.rest(occupant.clusterId, agentBehind(door, "the agent of the host"), limit);
  } catch (err) {
    signal.throwIfAborted();
    ctx.log.warn(
      { err, host: reached.target.address },
      "the end of the log of a managed job is lost",
    );
  } finally {
    await door.destroy();
  }
}
