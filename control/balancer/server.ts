import { renameSync, rmSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AppError, errorTypes, fail, toAppError } from "../../common/errors.ts";
import type { Log } from "../../common/log.ts";
import { type InputOf, type Operation, type OutputOf, routeOf } from "../../common/operation.ts";
import { findProcess } from "../../common/process-tree.ts";
import { leftSocketOf } from "../../contract/balancer-api.ts";

/** What an operation does; a `stream` row answers objects, of which each becomes a line. */
type Run<Op extends Operation> = (
  input: InputOf<Op>,
  gone: AbortSignal,
) => Op["mode"] extends "stream" ? AsyncIterable<object> : OutputOf<Op> | Promise<OutputOf<Op>>;

/** A table's rows with what each does; a row without one does not compile. */
export type Bound<Rows extends Record<string, Operation>> = {
  readonly [Name in keyof Rows]: Run<Rows[Name]>;
};

interface Row {
  readonly row: Operation;
  readonly run: (input: never, gone: AbortSignal) => unknown;
}

/** What listens to control. */
export interface ControlSide {
  /** Resolves once the socket is not ours any more: control cannot find us, and never will. */
  readonly lost: Promise<void>;
  /** Lets control find us no more, unless a newer balancer has our place, and breaks all calls off. */
  leave(): void;
  /** Takes away what is left of the socket. */
  close(): void;
}

const lookEveryMs = 2_000;
const bodyBytesAtMost = 4 * 1024 * 1024;

/** Serves a table of operations on a Unix socket that only its owner may open. */
export async function serveControl<Rows extends Record<string, Operation>>(
  rows: Rows,
  bound: Bound<Rows>,
  { socket, log }: { socket: string; log: Log },
): Promise<ControlSide> {
  const table = new Map<string, Row>();
  for (const [name, row] of Object.entries(rows)) {
    const { method, path } = routeOf(row);
    table.set(`${method} ${path}`, { row, run: bound[name as keyof Rows] });
  }
  // Imported the usual way, `node:http` also loads its WebSocket and with it 9 MB.
  const { createServer } = process.getBuiltinModule("node:http");
  const server = createServer((req, res) => void answer(table, req, res, log));
  server.requestTimeout = 0;
  // Only who asks ends a connection at rest: one that ends while it is taken up again loses a call.
  server.keepAliveTimeout = 0;
  rmSync(socket, { force: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).once("listening", resolve);
  listenPrivately(() => server.listen(socket));
  await promise;
  const { ino } = statSync(socket);
  const left = leftSocketOf(
    socket,
    findProcess(process.pid) ?? fail("RuntimeError", "/proc has no such process"),
  );
  const isOurs = () => statSync(socket, { throwIfNoEntry: false })?.ino === ino;
  const lost = Promise.withResolvers<void>();
  const watch = setInterval(() => isOurs() || lost.resolve(), lookEveryMs).unref();
  return {
    lost: lost.promise,
    leave() {
      clearInterval(watch);
      if (isOurs()) renameSync(socket, left);
      server.closeAllConnections();
    },
    close() {
      clearInterval(watch);
      // The server itself is left open: closed, it would remove whatever has its path by now.
      if (isOurs()) rmSync(socket, { force: true });
      rmSync(left, { force: true });
    },
  };
}

/** The socket is made before `listen` returns: it has the right mode from its first moment. */
function listenPrivately(listen: () => void): void {
  const mask = process.umask(0o177);
  try {
    listen();
  } finally {
    process.umask(mask);
  }
}

async function answer(
  table: ReadonlyMap<string, Row>,
  req: IncomingMessage,
  res: ServerResponse,
  log: Log,
): Promise<void> {
  const gone = new AbortController();
  res.once("close", () => gone.abort());
  try {
    const known = table.get(`${req.method} ${req.url}`);
    const { row, run } = known ?? fail("NotFoundError", `there is no ${req.method} ${req.url}`);
    const result = await run((await readInput(row, req)) as never, gone.signal);
    if (row.mode === "stream") await sendLines(res, result as AsyncIterable<object>, gone.signal);
    else sendJson(res, 200, result);
  } catch (error) {
    if (gone.signal.aborted) return;
    req.resume();
    sendError(res, toAppError(error), log);
  }
}

/** The body as its row wants it. What is wrong with it is told without what it says: it may hold keys. */
async function readInput({ input }: Operation, req: IncomingMessage): Promise<unknown> {
  if (input.body === undefined) return {};
  const parsed = input.body.safeParse(await readJson(req));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  fail("ValueError", `${issue?.path.join(".") || "the body"}: ${issue?.message ?? "not valid"}`);
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > bodyBytesAtMost)
      fail("TooLargeError", `the body is larger than ${bodyBytesAtMost} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    fail("ValueError", "the body is not JSON");
  }
}

/** Asks for a line only once the one before has left, so a slow reader costs no memory. */
async function sendLines(
  res: ServerResponse,
  lines: AsyncIterable<object>,
  gone: AbortSignal,
): Promise<void> {
  res.writeHead(200, { "content-type": "application/x-ndjson" });
  for await (const line of lines) {
    if (gone.aborted) return;
    const sent = Promise.withResolvers<void>();
    res.write(`${JSON.stringify(line)}\n`, () => sent.resolve());
    await sent.promise;
  }
  res.end();
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value);
  const length = Buffer.byteLength(text);
  res.writeHead(status, { "content-type": "application/json", "content-length": length });
  res.end(text);
}

function sendError(res: ServerResponse, error: AppError, log: Log): void {
  const { type, message, details } = error;
  if (type === "InternalError") log.error({ error: error.cause ?? error }, "an operation failed");
  if (res.headersSent) return void res.destroy();
  sendJson(res, errorTypes[type].http, { type, message, details });
}
