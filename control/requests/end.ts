import { setTimeout as sleep } from "node:timers/promises";
import { toAppError } from "../../common/errors.ts";
import { waitMs } from "../../common/loop.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { type Ending, failureOf, requestKey } from "./schema.ts";
import * as store from "./store.ts";

/** Ends a request with its result, as `endSurely` does. */
export const succeed = (ctx: Context, id: string, value: unknown, signal: AbortSignal) =>
  endSurely(ctx, id, { status: "SUCCEEDED", returnValue: JSON.stringify(value ?? null) }, signal);

/** A bug of ours is an error for the operator of control, the rest is history. */
export function logFailure(ctx: Ground, id: string, error: unknown): void {
  const isOurs = toAppError(error).type === "InternalError";
  ctx.log[isOurs ? "error" : "info"]({ err: error, requestId: id }, "request failed");
}

/** Ends a request with its error. */
export function endFailed(ctx: Context, id: string, error: unknown, signal: AbortSignal) {
  logFailure(ctx, id, error);
  return endSurely(ctx, id, failureOf(error), signal);
}

const firstRetryMs = 500;

/**
 * Ends a request, and retries while the disk is full: no one else would end it, and clients wait for its end
 * without a limit. Stops on abort; a request that has not ended then is resumed after the next start.
 */
export async function endSurely(ctx: Context, id: string, ending: Ending, signal: AbortSignal) {
  for (let failures = 0; ; failures += 1)
    try {
      return void (await end(ctx, id, ending));
    } catch (error) {
      ctx.log.error({ err: error, requestId: id }, "request not ended yet");
      if (signal.aborted) return;
      await sleep(waitMs(firstRetryMs, failures), undefined, { signal }).catch(() => {});
    }
}

/**
 * Ends a request and wakes those who wait for it. False when it had ended before. `also` joins the
 * transaction.
 */
export async function end(
  ctx: Context,
  id: string,
  ending: Ending,
  also: (tx: Connection) => Promise<void> = async () => {},
): Promise<boolean> {
  const isReadEnded = ctx.reads.end(id, ending, ctx.now().getTime());
  if (isReadEnded !== undefined) {
    ctx.changes.notify(requestKey(id));
    return isReadEnded;
  }
  const ended = await ctx.batch(async (tx) => {
    // The disk may have been full when its start was to be written down.
    if (ending.status === "SUCCEEDED") await store.setRunning(tx, id);
    const isEnded = await store.setEnded(tx, id, ending, ctx.now().getTime());
    if (isEnded) await also(tx);
    return isEnded;
  });
  ctx.changes.notify(requestKey(id));
  return ended;
}
