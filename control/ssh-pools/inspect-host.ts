import { AppError, toAppError } from "../../common/errors.ts";
import type { Context } from "../context.ts";
import { checkHost } from "../doors/ssh/install.ts";
import { probeHost } from "../doors/ssh/probe.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";
import { machineOf } from "../doors/ssh/target.ts";
import type { Ground } from "../ground.ts";
import type { HostRef } from "./schema.ts";
import { setHost } from "./store.ts";

/** Looks at a host now, and keeps what was seen; throws, and keeps, why it cannot be used. */
export async function lookAt(
  ctx: Context,
  host: HostRef,
  signal: AbortSignal,
): Promise<ReachedHost> {
  return keepingProblem(ctx, host, signal, async () => {
    const { connections: ssh, targetOf } = ctx.ssh;
    const target = await targetOf(host);
    const facts = await probeHost(ssh, target, signal);
    const seen = { facts, machine: machineOf(target), lookedAt: ctx.now().getTime() };
    await ctx.batch((tx) => setHost(tx, host, { ...seen, problem: null }));
    checkHost(target, facts);
    return { ssh, target, facts };
  });
}

/** Does something with a host; whatever stands in the way is kept as its problem. */
export async function keepingProblem<T>(
  ctx: Ground,
  host: HostRef,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    const lookedAt = ctx.now().getTime();
    if (!(error instanceof AppError)) ctx.log.error({ err: error, ...host }, "host not checked");
    await ctx.batch((tx) => setHost(tx, host, { problem: toAppError(error).message, lookedAt }));
    throw error;
  }
}
