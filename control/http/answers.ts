import type { OutgoingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError, errorCodeOf, toAppError } from "../../common/errors.ts";
import type { InputOf, Mode } from "../../common/operation.ts";
import { requireRole } from "../access/authorize.ts";
import { noteRefusal } from "../audit/entry.ts";
import type { Bound, LogReply, RawBody, Reply, SocketReply } from "../bind.ts";
import type { Context } from "../context.ts";
import { endFailed, endSurely, succeed } from "../requests/end.ts";
import { type Caller, cancelled, queueOf, runNow, submit } from "../requests/run.ts";
import { requestIdHeaders } from "../wire/versions.ts";
import { defaultWorkspace } from "../workspaces/schema.ts";
import { wordedIn } from "./errors.ts";
import { acceptanceOf } from "./upgrades.ts";
import { workspaceFor } from "./workspace.ts";

/** A call whose input is checked, on its way to an answer. */
export interface Exchange {
  ctx: Context;
  bound: Bound;
  input: InputOf<Bound["row"]>;
  caller: Omit<Caller, "workspace">;
  req: FastifyRequest;
  reply: FastifyReply;
}

type Answer = (exchange: Exchange) => Promise<unknown>;

/** How each mode answers. */
export const answers: Record<Mode, Answer> = {
  sync: async (exchange) => {
    const answer = (await runDirectly(exchange)) ?? null;
    exchange.reply.code(exchange.bound.statusOf?.(answer as never) ?? 200);
    return answer;
  },
  async: async (exchange) => {
    await store(exchange);
    return null;
  },
  receipt: async (exchange) => ({
    status: "success",
    request_id: await store(exchange),
    message: `${exchange.bound.row.name} is stored; ask /api/get for its result`,
  }),
  log: answerLog,
  stream: answerReply,
  events: answerReply,
  file: answerReply,
  page: answerReply,
  socket: async (exchange) => {
    const accept = acceptanceOf(exchange.req, exchange.reply);
    const { lead } = (await runDirectly(exchange)) as SocketReply;
    accept(lead);
    return exchange.reply;
  },
};

/** Stores the call as a request, then lets its queue have it; one that is refused has FAILED. */
async function store(exchange: Exchange): Promise<string> {
  const { ctx, bound, input, reply } = exchange;
  const { caller, refusal } = await examine(exchange);
  const id = await submit(ctx, bound.row, input, caller, refusal);
  if (refusal === undefined) ctx.queues.push(queueOf(bound.row), id);
  reply.headers(requestIdHeaders(id));
  return id;
}

/**
 * Where a call to be stored goes, and what refuses it for its meaning, its caller or what it is about.
 * Throws what is wrong with the form of a task.
 */
async function examine({ ctx, bound, input, caller }: Exchange) {
  const { row, check } = bound;
  let workspace = defaultWorkspace;
  try {
    workspace = await workspaceFor(ctx, row, input, caller.identity);
    check?.(input as never);
    requireRole(row, caller.identity);
    return { caller: { ...caller, workspace } };
  } catch (error) {
    const refusal = toAppError(error);
    if (refusal.type === "InvalidTaskError") throw refusal;
    return { caller: { ...caller, workspace }, refusal };
  }
}

const hungUp = new AppError("RequestCancelled", "the client hung up");

/** A signal that aborts when the client hangs up before its answer is whole. */
function hangUpSignal({ reply }: Exchange): AbortSignal {
  const abort = new AbortController();
  if (reply.raw.destroyed) abort.abort(hungUp);
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) abort.abort(hungUp);
  });
  return abort.signal;
}

async function runDirectly(exchange: Exchange): Promise<unknown> {
  const { ctx, bound, input, req } = exchange;
  const { identity, origin } = exchange.caller;
  const called = { row: bound.row, input, identity, address: origin.address, requestId: req.id };
  const workspace = await noteRefusal(ctx, called, () =>
    workspaceFor(ctx, bound.row, input, identity),
  );
  const caller = { ...exchange.caller, workspace };
  bound.check?.(input as never);
  const signal = hangUpSignal(exchange);
  return runNow(ctx, bound, { id: req.id, input, caller, signal, body: rawBodyOf(exchange) });
}

function rawBodyOf({ bound, req }: Exchange): RawBody | null {
  if (bound.row.input.rawBody === undefined) return null;
  const stream = req.body instanceof Readable ? req.body : Readable.from([]);
  return { type: req.headers["content-type"] ?? "", stream };
}

async function answerReply(exchange: Exchange): Promise<unknown> {
  const { status = 200, headers = {}, body } = (await runDirectly(exchange)) as Reply;
  if (body instanceof Readable) return send(exchange, status, headers, body);
  exchange.reply.code(status).headers(headers);
  return body ?? "";
}

/** The text of a job in the answer itself, its exit code in the stored request. */
async function answerLog(exchange: Exchange): Promise<unknown> {
  const { ctx, bound, input, reply } = exchange;
  const gone = hangUpSignal(exchange);
  const { caller, refusal } = await examine(exchange);
  const id = await submit(ctx, bound.row, input, caller, refusal);
  if (refusal !== undefined) return sendRefusal(exchange, id, refusal);
  await ctx.queues.direct(id, async (ended) => {
    try {
      const exitCode = await followLog({ ...exchange, caller }, id, AbortSignal.any([gone, ended]));
      await succeed(ctx, id, exitCode, ended);
    } catch (error) {
      if (gone.aborted) await endSurely(ctx, id, { status: "CANCELLED" }, ended);
      else if (!ended.aborted) await endFailed(ctx, id, error, ended);
      if (!reply.raw.headersSent && !gone.aborted) await sendRefusal(exchange, id, error);
    }
  });
  return reply;
}

/** A log of nothing, but of the reason where existing clients do not ask for the result. */
function sendRefusal(exchange: Exchange, id: string, error: unknown): Promise<unknown> {
  const { follow } = exchange.input as { follow?: boolean };
  const isUnread = exchange.bound.row.resultNeedsFollow === true && follow === false;
  const lines = isUnread ? [`${wordedIn(exchange.reply, toAppError(error))}\n`] : [];
  return send(exchange, 200, requestIdHeaders(id), Readable.from(lines));
}

/** Sends the text of a job; answers its exit code. */
async function followLog(
  exchange: Exchange & { caller: Caller },
  id: string,
  signal: AbortSignal,
): Promise<number> {
  const { ctx, bound, input, caller } = exchange;
  const reply = (await runNow(ctx, bound, { id, input, caller, signal })) as LogReply;
  const chunks = reply.body instanceof Readable ? reply.body : [reply.body ?? ""];
  const headers = { ...requestIdHeaders(id), ...reply.headers };
  await send(exchange, 200, headers, Readable.from(untilCancelled(chunks, signal)));
  return reply.exitCode();
}

/** To a client that reads a text whose request is cancelled, the text just ends. */
async function* untilCancelled(chunks: AsyncIterable<Buffer> | string[], signal: AbortSignal) {
  try {
    yield* chunks;
  } catch (error) {
    if (signal.reason !== cancelled) throw error;
  }
}

const streamHeaders = {
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Sends the head at once, then the bytes as they come; a client that hangs up is no error. */
async function send(
  { ctx, reply }: Exchange,
  status: number,
  headers: NonNullable<Reply["headers"]>,
  body: Readable,
): Promise<unknown> {
  reply.headers({ ...streamHeaders, ...headers });
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(status, reply.getHeaders() as OutgoingHttpHeaders);
  raw.flushHeaders();
  if (raw.destroyed) body.destroy();
  try {
    await pipeline(body, raw);
  } catch (error) {
    const gone = errorCodeOf(error) === "ERR_STREAM_PREMATURE_CLOSE" || raw.destroyed;
    if (!gone) ctx.log.warn({ err: toAppError(error) }, "stream broke off");
    raw.destroy();
    throw error;
  }
  return reply;
}
