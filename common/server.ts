import { rmSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type * as z from "zod";
import { type AppError, errorTypes, fail, toAppError } from "./errors.ts";
import { readAll } from "./limited.ts";
import type { Log } from "./log.ts";
import { bareStream, type InputOf, type Operation, type OutputOf, routeOf } from "./operation.ts";

// Imported the usual way, `node:http` also loads its WebSocket and with it 9 MB.
const { createServer, ServerResponse: Response } = process.getBuiltinModule("node:http");

/** What a handler may use of the exchange besides its input. */
export interface Exchange {
  /** The bytes of a body that is not JSON. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Aborts once the caller went away. */
  readonly signal: AbortSignal;
}

/** The answer of an operation whose mode is `stream`. */
export interface Stream {
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A chunk is sent before the next one is asked for, so its bytes may be used again. */
  readonly content: AsyncIterable<string | Uint8Array>;
}

/** What is answered, or its JSON where that is at hand already. */
type AnswerOf<Op extends Operation> = Op["mode"] extends "stream" ? Stream : OutputOf<Op> | string;

/** A table's rows with what each does; a row without one does not compile. */
export type Bound<Rows extends Record<string, Operation>> = {
  readonly [Name in keyof Rows]: (
    input: InputOf<Rows[Name]>,
    exchange: Exchange,
  ) => AnswerOf<Rows[Name]> | Promise<AnswerOf<Rows[Name]>>;
};

interface Route {
  readonly row: Operation;
  readonly method: string;
  readonly pattern: RegExp;
  readonly run: (input: never, exchange: Exchange) => unknown;
}

/** What a server needs besides its rows. */
interface Settings {
  readonly socket: string;
  readonly log: Log;
  /** The size of the largest JSON body that is read; 16 MiB unless stated. */
  readonly bodyBytesAtMost?: number;
  /** Called with each error that an operation throws. */
  readonly failed?: (error: unknown) => void;
}

/** Serves a table of operations on a Unix socket that only its owner may open. */
export async function serve<Rows extends Record<string, Operation>>(
  rows: Rows,
  bound: Bound<Rows>,
  settings: Settings,
): Promise<Server> {
  const routes = Object.entries(rows).map(([name, row]) => toRoute(row, bound[name as keyof Rows]));
  const server = createServer((req, res) => void answer(routes, req, res, settings));
  server.on("upgrade", (req, socket: Socket) => {
    const res = responseOn(socket, req);
    void answer(routes, req, res, settings);
  });
  server.requestTimeout = 0;
  // Only who asks ends a connection at rest: one that ends while it is taken up again loses a call.
  server.keepAliveTimeout = 0;
  rmSync(settings.socket, { force: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Later ones are about a caller who could not be let in, and no reason to leave.
  server.on("error", reject).once("listening", resolve);
  listenPrivately(server, settings.socket);
  await promise;
  return server;
}

/** The answers to callers who ask for a stream without HTTP around it. */
const upgrades = new WeakSet<ServerResponse>();

/** The answer to a caller who asks for another protocol, after which the connection ends. */
function responseOn(socket: Socket, req: IncomingMessage): ServerResponse {
  const res = new Response(req);
  if (req.headers.upgrade === bareStream) upgrades.add(res);
  res.assignSocket(socket);
  res.shouldKeepAlive = false;
  res.once("finish", () => socket.destroySoon());
  // Without HTTP, nothing else looks whether the caller went away.
  socket.on("error", () => {}).on("end", () => socket.destroy());
  socket.resume();
  return res;
}

/**
 * The mode must be right from the first moment, not only after a chmod. The socket is made before
 * `listen` returns, so nothing else of this process, and no job, gets that mask.
 */
function listenPrivately(server: Server, socket: string): void {
  const mask = process.umask(0o177);
  try {
    server.listen(socket);
  } finally {
    process.umask(mask);
  }
}

/** Why a call is aborted; made once, because the stack of an error costs more than most calls do. */
const callerGone = new DOMException("the caller is gone", "AbortError");

async function answer(
  routes: readonly Route[],
  req: IncomingMessage,
  res: ServerResponse,
  { log, failed, bodyBytesAtMost = 16 * 1024 * 1024 }: Settings,
): Promise<void> {
  const gone = new AbortController();
  res.once("close", () => gone.abort(callerGone));
  try {
    const url = new URL(req.url ?? "/", "http://unix");
    const { row, run, path } = findRoute(routes, req.method ?? "", url.pathname);
    const body = row.input.body && (await readJson(req, bodyBytesAtMost));
    const input = inputOf(row, path, url.searchParams, body);
    const result = await run(input as never, { body: req, signal: gone.signal });
    if (row.mode === "stream") await sendStream(res, row, result as Stream, gone.signal);
    else sendJson(res, 200, result);
  } catch (error) {
    failed?.(error);
    if (gone.signal.aborted) return;
    // The rest of a body that nobody wants must still be read, or the next request never is.
    req.resume();
    sendError(res, toAppError(error), log);
  }
}

function findRoute(routes: readonly Route[], method: string, pathname: string) {
  for (const route of routes) {
    const path = route.method === method ? route.pattern.exec(pathname) : null;
    if (path !== null) return { ...route, path: { ...path.groups } };
  }
  fail("NotFoundError", `there is no ${method} ${pathname}`);
}

function toRoute(row: Operation, run: Route["run"]): Route {
  const { method, path } = routeOf(row);
  const pattern = new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
  return { row, method, pattern, run };
}

/** The checked input of an operation as one flat object. What is wrong is told without its value: it may be a key. */
const inputOf = (
  { input }: Operation,
  path: Readonly<Record<string, string>>,
  query: URLSearchParams,
  body: unknown,
) => ({
  ...check(input.body, body),
  ...check(input.query, Object.fromEntries(query)),
  ...check(input.path, path),
});

function check(shape: z.ZodObject | undefined, given: unknown): Record<string, unknown> {
  const parsed = shape?.safeParse(given);
  if (parsed === undefined) return {};
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  fail("ValueError", `${issue?.path.join(".") || "the body"}: ${issue?.message ?? "not valid"}`);
}

async function readJson(req: IncomingMessage, bytesAtMost: number): Promise<unknown> {
  const body = await readAll(req.iterator({ destroyOnReturn: false }), bytesAtMost, () =>
    fail("TooLargeError", `the body is larger than ${bytesAtMost} bytes`),
  );
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    fail("ValueError", "the body is not JSON");
  }
}

/** A stream of objects, each a line of JSON. */
export const toJsonLines = (objects: AsyncIterable<object>): Stream => ({
  type: "application/x-ndjson",
  content: jsonLinesOf(objects),
});

async function* jsonLinesOf(objects: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const object of objects) yield `${JSON.stringify(object)}\n`;
}

/** Asks for a chunk only once the one before has left, so a slow caller costs no memory. */
async function sendStream(
  res: ServerResponse,
  { staysOpen }: Operation,
  { type, headers, content }: Stream,
  signal: AbortSignal,
): Promise<void> {
  const { socket } = res;
  const isBare = staysOpen && upgrades.has(res) && socket !== null;
  if (isBare) res.writeHead(101, { connection: "upgrade", upgrade: bareStream, ...headers });
  else res.writeHead(200, { "content-type": type, ...headers });
  res.flushHeaders();
  const way = isBare ? socket : res;
  for await (const chunk of content) await sent(way, chunk, signal);
  res.end();
}

/** Resolves once the bytes have left; rejects when the caller went away instead. */
function sent(way: Writable, chunk: string | Uint8Array, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    // Who went while the chunk was made gets no other: what is written to nobody is over at once.
    signal.throwIfAborted();
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    way.write(chunk, () => {
      signal.removeEventListener("abort", leave);
      resolve();
    });
  });
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const length = Buffer.byteLength(text);
  res.writeHead(status, { "content-type": "application/json", "content-length": length });
  res.end(text);
}

function sendError(res: ServerResponse, error: AppError, log: Log): void {
  const { type, message, details } = error;
  if (type === "InternalError") log.error({ error: error.cause ?? error }, "an operation failed");
  // Half an answer cannot be taken back; a cut connection tells the caller.
  if (res.headersSent) return void res.destroy();
  sendJson(res, errorTypes[type].http, { type, message, details });
}
