import { randomUUID } from "node:crypto";
import { AppError, toAppError } from "../../common/errors.ts";
import { type InputOf, isAudited, isRead, type Operation } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { requestOperations as requestRows } from "../../contract/operations/requests.ts";
import { authorize } from "../access/authorize.ts";
import type { Identity } from "../access/identity.ts";
import {
  addEntries,
  audit,
  entriesOf,
  isRefusal,
  noteRefusal,
  writeEntries,
} from "../audit/entry.ts";
import type { Bound, Origin, RawBody } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import type { Reader } from "../wire/wording.ts";
import { callOf, identityOf } from "./call.ts";
import { end, endFailed, logFailure, succeed } from "./end.ts";
import { dropPassing, isPassing } from "./passing.ts";
import type { QueueName } from "./queue.ts";
import { type Asked, failureOf } from "./schema.ts";
import * as store from "./store.ts";
import { findWork, listUnended } from "./work-store.ts";

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
  const called = { row, input, identity, address: caller.origin.address, requestId: id, refusal };
  const entries = isAudited(row) || isRefusal(refusal) ? entriesOf(ctx, called) : [];
  if (isRead(row)) {
    ctx.reads.add(request, asked);
    await writeEntries(ctx, entries);
    if (refused !== undefined) ctx.reads.end(id, refused, request.createdAt);
    return id;
  }
  const sealed = ctx.seal.seal(JSON.stringify(asked));
  await ctx.batch(async (tx) => {
    await store.addRequest(tx, { ...request, input: sealed });
    await addEntries(tx, entries);
    if (refused !== undefined) await store.setEnded(tx, id, refused, request.createdAt);
  });
  return id;
}

/** Queues what an earlier process left; `start` begins to work on it, and on whatever is pushed. */
export async function openRequests(ctx: Context, operations: readonly Bound[]) {
  const byName = new Map(operations.map((bound) => [bound.row.name, bound]));
  const left = new Set<string>();
  for await (const page of listUnended(ctx.db))
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
    "tried again; check what it left behind and the log of control before you repeat it",
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
    const called = { row: bound.row, input: input as never, identity, address: "", requestId: id };
    const call = callOf(ctx, { ...work, command, program, identity }, signal);
    const run = async () => {
      await authorize(ctx, bound.row, called.input, identity);
      return bound.run(ctx, called.input, call);
    };
    // Side by side, so that the start and the end of a quick request share a disk flush.
    await Promise.all([
      noteRefusal(ctx, called, run).then((value) => succeed(ctx, id, value, signal)),
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
  const work = await findWork(ctx.db, id);
  if (!work?.input) return undefined;
  return { ...work, asked: JSON.parse(ctx.seal.open(work.input)) as Asked };
}

/** Runs an operation that does not wait in a queue: its answer is the result. */
export async function runNow(
  ctx: Context,
  bound: Bound,
  { id, input, caller, signal, body = null }: Direct,
): Promise<unknown> {
  const { identity, workspace, origin, clientApi, command, program } = caller;
  const { row } = bound;
  const called = { row, input, identity, address: origin.address, requestId: id };
  return noteRefusal(ctx, called, async () => {
    const refusal = await authorize(ctx, row, input, identity).then(() => undefined, toAppError);
    // That there is no such thing for this caller is an answer elsewhere, and here it refuses, too.
    if (isAudited(row) && !isRefusal(refusal)) await audit(ctx, { ...called, refusal });
    if (refusal !== undefined) throw refusal;
    const asked = { identity, workspace, client_api: clientApi, command, program };
    const work = { id, name: bound.row.name, ...asked, progress: null };
    return bound.run(ctx, input as never, callOf(ctx, work, signal, { origin, body }));
  });
}

interface Direct {
  id: string;
  input: InputOf<Operation>;
  caller: Caller;
  signal: AbortSignal;
  body?: RawBody | null;
}

/** The cluster that a request is about, for lists. */
function clusterOf(input: InputOf<Operation>): string | null {
  const { cluster_name: name, cluster } = (input ?? {}) as Record<string, unknown>;
  return [name, cluster].find((value) => typeof value === "string") ?? null;
}
