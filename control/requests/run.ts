import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail, toAppError } from "../../common/errors.ts";
import { waitMs } from "../../common/loop.ts";
import { type InputOf, isAudited, isRead, type Operation } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { requestOperations as requestRows } from "../../contract/operations/requests.ts";
import { authorize } from "../access/authorize.ts";
import { findIdentity, localIdentity } from "../access/directory.ts";
import type { Identity } from "../access/identity.ts";
import { audit, auditOf } from "../audit/entry.ts";
import { addAudit } from "../audit/store.ts";
import type { Bound, Call, Origin, Progress, RawBody } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { type Reader, wordedFor } from "../wire/wording.ts";
import { dropPassing, isPassing } from "./passing.ts";
import { printerOf } from "./print.ts";
import type { QueueName } from "./queue.ts";
import { type Asked, type Ending, failureOf, requestKey } from "./schema.ts";
import * as store from "./store.ts";

/** Who calls and with what, as the HTTP edge read it. */
export interface Caller extends Reader {
  readonly identity: Identity;
  /** Where what the call makes is created. */
  readonly workspace: string;
  readonly origin: Origin;
  readonly command: string;
}

/** What aborts the work on requests when control stops: they go on after the next start. */
export const stopping = new AppError("RequestCancelled", "control is stopping");
/** What aborts the work on a request that a user cancelled. */
export const cancelled = new AppError("RequestCancelled", "cancelled by a user");

/**
 * Writes a request down; once this resolves no crash loses it. Returns its id. One that comes with a
 * refusal has FAILED with it. One that only reads is kept in memory.
 */
export async function submit(
  ctx: Context,
  row: Operation,
  input: InputOf<Operation>,
  caller: Caller,
  refusal?: AppError,
): Promise<string> {
  const id = randomUUID();
  const { identity } = caller;
  const asked: Asked = { input, command: caller.command, program: caller.program };
  const request = {
    id,
    name: row.name,
    queue: row.queue ?? "short",
    userId: identity.user.id,
    userName: identity.user.name,
    workspace: caller.workspace,
    credential: identity.credential,
    clusterName: clusterOf(input),
    clientApi: caller.clientApi,
    createdAt: ctx.now().getTime(),
  };
  if (refusal !== undefined) logFailure(ctx, id, refusal);
  const refused = refusal && failureOf(refusal);
  if (isRead(row)) {
    ctx.reads.add(request, asked);
    if (refused !== undefined) ctx.reads.end(id, refused, request.createdAt);
    return id;
  }
  const sealed = ctx.seal.seal(JSON.stringify(asked));
  const audited = { row, input, identity, address: caller.origin.address, requestId: id, refusal };
  await ctx.batch(async (tx) => {
    await store.addRequest(tx, { ...request, input: sealed });
    if (isAudited(row)) await addAudit(tx, auditOf(audited, ctx.now()));
    if (refused !== undefined) await store.setEnded(tx, id, refused, request.createdAt);
  });
  return id;
}

/** Queues what an earlier process left; `start` begins to work on it, and on whatever is pushed. */
export async function openRequests(ctx: Context, operations: readonly Bound[]) {
  const byName = new Map(operations.map((bound) => [bound.row.name, bound]));
  const left = new Set<string>();
  for await (const page of store.listUnended(ctx.db))
    for (const { id, name, runs } of page) {
      if (runs >= runsAtMost) await end(ctx, id, failureOf(givenUp));
      else ctx.queues.push(queueOf(byName.get(name)?.row), id);
      left.add(id);
    }
  return {
    start: () =>
      ctx.queues.start((id, signal) => runRequest(ctx, byName, id, left.delete(id), signal)),
    async stop() {
      await ctx.queues.stop(stopping);
      await ctx
        .batch(store.forgetRuns)
        .catch((fault) => ctx.log.warn({ err: fault }, "orderly stop not written down"));
    },
  };
}

/** Where requests of an operation wait for their turn. */
export const queueOf = (row: Operation | undefined): QueueName =>
  row === requestRows.cancel ? "urgent" : (row?.queue ?? "short");

/** A request may be what ends control, and is not tried for ever. */
const runsAtMost = 3;

const givenUp = new AppError(
  "RuntimeError",
  `control ended unexpectedly ${runsAtMost} times while it worked on this request, which is not ` +
    "tried again; look at what it left, and at the log of control, before you repeat it",
);

/** `isLeft` is of a request that an earlier process left. */
async function runRequest(
  ctx: Context,
  byName: ReadonlyMap<string, Bound>,
  id: string,
  isLeft: boolean,
  signal: AbortSignal,
): Promise<void> {
  try {
    // Known on disk before anything that it does can end control.
    if (isLeft) await ctx.batch((tx) => store.setBegun(tx, id));
    const read = ctx.reads.findWork(id);
    const work = read ?? (await findStoredWork(ctx, id));
    if (work === undefined || signal.aborted) return;
    const { input, command, program = product.word } = work.asked;
    const bound = byName.get(work.name);
    if (bound === undefined) throw new AppError("NotSupportedError", `${work.name} is gone`);
    const identity = await identityOf(ctx, work);
    await authorize(ctx, bound.row, input as never, identity);
    const call = callOf(ctx, { ...work, command, program, identity }, signal);
    // Side by side, so that the start and the end of a quick request share a disk flush.
    await Promise.all([
      bound.run(ctx, input as never, call).then((value) => succeed(ctx, id, value, signal)),
      isLeft ||
        read !== undefined ||
        ctx
          .batch((tx) => store.setBegun(tx, id))
          .catch((fault) => ctx.log.error({ err: fault, requestId: id }, "start not written down")),
    ]);
    if (isPassing(work)) await dropPassing(ctx);
  } catch (error) {
    if (signal.reason === stopping) return;
    if (signal.reason === cancelled) return;
    await endFailed(ctx, id, error, signal);
  }
}

async function findStoredWork(ctx: Ground, id: string) {
  const work = await store.findWork(ctx.db, id);
  if (!work?.input) return undefined;
  return { ...work, asked: JSON.parse(ctx.seal.open(work.input)) as Asked };
}

/** Ends a request with its result, as `endSurely` does. */
export const succeed = (ctx: Context, id: string, value: unknown, signal: AbortSignal) =>
  endSurely(ctx, id, { status: "SUCCEEDED", returnValue: JSON.stringify(value ?? null) }, signal);

/**
 * Who asks, with the role and the workspaces that the user has now. Users whom only a version before
 * this one knew are administrators, as this machine's user is, as long as nobody logs in.
 */
async function identityOf(
  ctx: Ground,
  { user_id: userId, user_name: name, credential }: Asker,
): Promise<Identity> {
  const identity = await findIdentity(ctx, { userId, credential });
  if (identity !== undefined) return identity;
  if (ctx.config.login.length === 0) return { ...localIdentity(ctx), user: { id: userId, name } };
  return fail("AuthenticationError", `user ${name}, who asked for this, was deleted`);
}

/** Runs an operation that does not wait in a queue: its answer is the result. */
export async function runNow(
  ctx: Context,
  bound: Bound,
  { id, input, caller, signal, body = null }: Direct,
): Promise<unknown> {
  const { identity, workspace, origin, clientApi, command, program } = caller;
  const { row } = bound;
  const refusal = await authorize(ctx, row, input, identity).then(() => undefined, toAppError);
  if (isAudited(row))
    await audit(ctx, { row, input, identity, address: origin.address, requestId: id, refusal });
  if (refusal !== undefined) throw refusal;
  const asked = { identity, workspace, client_api: clientApi, command, program };
  const work = { id, name: bound.row.name, ...asked, progress: null };
  return bound.run(ctx, input as never, callOf(ctx, work, signal, { origin, body }));
}

interface Asker {
  readonly user_id: string;
  readonly user_name: string;
  readonly credential: string;
}

interface Direct {
  id: string;
  input: InputOf<Operation>;
  caller: Caller;
  signal: AbortSignal;
  body?: RawBody | null;
}

interface Work {
  readonly id: string;
  readonly name: string;
  readonly identity: Identity;
  readonly workspace: string;
  readonly client_api: number | null;
  readonly progress: string | null;
  readonly command: string;
  readonly program: string;
}

/** What only a call that does not wait has. */
type Attached = Pick<Call, "origin" | "body">;
const nothing: Attached = { origin: null, body: null };

function callOf(ctx: Context, work: Work, signal: AbortSignal, attached = nothing): Call {
  const { id, program, client_api: clientApi } = work;
  const print = printerOf(ctx.requestLogs, id);
  const progress: Progress = JSON.parse(work.progress ?? "{}");
  return {
    ...work.identity,
    ...attached,
    id,
    workspace: work.workspace,
    program,
    clientApi,
    command: work.command,
    signal,
    progress,
    // What a hook wrote is not ours to word.
    print: isPassing(work) ? print : (text) => print(wordedFor({ program, clientApi }, text)),
    remember: (added, also) => {
      Object.assign(progress, added);
      return ctx.batch(async (tx) => {
        await also?.(tx);
        await store.setProgress(tx, id, progress);
      });
    },
    aside: (wait) => ctx.queues.aside(id, wait),
    note: (text) => ctx.batch((tx) => store.setStatusNote(tx, id, text)),
  };
}

/** A bug of ours is an error for the operator of control, the rest is history. */
function logFailure(ctx: Ground, id: string, error: unknown): void {
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
 * Ends a request, if need be once the disk has room again: nobody else would, and whoever waits for its
 * end waits without limit. On abort it tries no more; what has not ended goes on after the next start.
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

/** The cluster that a request is about, for lists. */
function clusterOf(input: InputOf<Operation>): string | null {
  const { cluster_name: name, cluster } = (input ?? {}) as Record<string, unknown>;
  return [name, cluster].find((value) => typeof value === "string") ?? null;
}
