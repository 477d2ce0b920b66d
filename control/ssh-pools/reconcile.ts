import type { ClientChannel } from "ssh2";
import { AppError } from "../../common/errors.ts";
import type { Context } from "../context.ts";
import { agentBehind } from "../doors/agent.ts";
import { removeNodeOn, socketOf } from "../doors/ssh/agent-service.ts";
import { openChannelDoor } from "../doors/ssh/door.ts";
import { findOccupant } from "../doors/ssh/occupant.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";
import { machineOf } from "../doors/ssh/target.ts";
import type { Reconciler } from "../reconciler.ts";
import { keepingProblem, lookAt } from "./inspect-host.ts";
import { findHost, findNodeOn, listHosts, setHost } from "./store.ts";

/** Looks after hosts that cannot be used or were not cleaned, so that they can be used again. */
export const sshHosts: Reconciler = {
  name: "ssh_host",
  everyMs: 15_000,
  atOnce: 16,
  async due(ctx) {
    const hosts = await listHosts(ctx.db);
    return hosts
      .filter(({ deployedAt }) => deployedAt !== null)
      .filter(({ problem, isDirty }) => problem !== null || isDirty)
      .map(({ pool, name }) => `${pool}/${name}`);
  },
  reconcile,
};

/** No longer than a host that is away takes to be found out. */
const restMs = 30_000;

/** One that is still in trouble has that kept, and its turn again. */
async function reconcile(ctx: Context, id: string, signal: AbortSignal): Promise<void> {
  const at = id.indexOf("/");
  const ref = { pool: id.slice(0, at), name: id.slice(at + 1) };
  const host = await findHost(ctx.db, ref);
  if (host === undefined) return;
  try {
    const reached = await lookAt(ctx, ref, signal);
    const node = await findNodeOn(ctx.db, machineOf(reached.target));
    if (!host.isDirty || node !== undefined) return;
    await fetchRest(ctx, reached, signal);
    await keepingProblem(ctx, ref, signal, () => removeNodeOn(reached, signal));
    await ctx.batch((tx) => setHost(tx, ref, { isDirty: false }));
    ctx.log.info(ref, "host cleaned");
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}

/** A host that was out of reach while its cluster was deleted may have the end of a job's log. */
async function fetchRest(
  ctx: Context,
  { ssh, target, facts }: ReachedHost,
  signal: AbortSignal,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(restMs)]);
  const door = openChannelDoor(() =>
    ssh.channel<ClientChannel>(target, (client, done) =>
      client.openssh_forwardOutStreamLocal(socketOf(facts), done as never),
    ),
  );
  try {
    const occupant = await findOccupant({ ssh, target, facts }, limit);
    if (occupant?.rank === 0)
      await ctx.jobLogs.rest(occupant.clusterId, agentBehind(door, "the agent of the host"), limit);
  } catch (err) {
    signal.throwIfAborted();
    ctx.log.warn({ err, host: target.address }, "the end of the log of a managed job is lost");
  } finally {
    await door.destroy();
  }
}
