import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { errorTypes, toAppError } from "../../common/errors.ts";
import { type Operation, routeOf } from "../../common/operation.ts";
import type { Stream } from "../../common/server.ts";
import type { Process } from "./clock.ts";
import type { Network } from "./network.ts";
import type { Place } from "./script.ts";

/** A program that control calls over HTTP. */
export interface Behind {
  readonly place: Extract<Place, "agent" | "balancer">;
  readonly routes: readonly Route[];
  /** What its operations do, by their names, while it answers. */
  bound(): object | undefined;
  /** How late everything on the way there is, now. */
  lateMs(): number;
  /** What cuts off each of the answers that go on. */
  streamsOf(): Set<() => void> | undefined;
  /** Called with what an operation answered. */
  answered(name: string, result: unknown): void;
}

/** How an operation is told from others. */
interface Route {
  readonly name: string;
  readonly row: Operation;
  readonly method: string;
  readonly pattern: RegExp;
}

/** The routes of a program's operations. */
export const routesOf = (rows: Record<string, Operation>): Route[] =>
  Object.entries(rows).map(([name, row]) => {
    const { method, path } = routeOf(row);
    const pattern = new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
    return { name, row, method, pattern };
  });

const heartbeatMs = 5_000;

/** The way to a program over a simulated network: as much of a Dispatcher as control uses. */
export function openDoor(network: Network, subject: string, behind: Behind): Dispatcher {
  async function request({ method, path, body, signal }: Dispatcher.RequestOptions) {
    const url = new URL(path, "http://behind");
    const { name, row, input } = read(behind.routes, String(method), url, body);
    const aborts = signal as AbortSignal;
    const caller = network.clock.process();
    const way = { place: behind.place, lateMs: behind.lateMs };
    return network.call(way, `${name} ${subject}`, aborts, async () => {
      const bound = behind.bound() as Record<string, Run> | undefined;
      const run = bound?.[name];
      if (run === undefined) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      const gone = new AbortController();
      try {
        const exchange = { body: Readable.from([]), signal: gone.signal };
        const now = () => run(input, exchange);
        const result = await (behind.place === "agent" ? network.clock.onNode(now) : now());
        behind.answered(name, result);
        if (row.mode !== "stream") return answerOf(200, result);
        return streamOf(network, result as Stream, behind, { caller, gone, aborts });
      } catch (error) {
        const { type, message, details } = toAppError(error);
        return answerOf(errorTypes[type].http, { type, message, details });
      }
    });
  }
  const door = {
    request,
    async upgrade(options: Dispatcher.RequestOptions) {
      const { headers, body } = await request(options);
      return { headers, socket: body };
    },
    destroy: (async () => {}) as Dispatcher["destroy"],
  };
  return door as unknown as Dispatcher;
}

type Run = (input: unknown, exchange: unknown) => unknown;

function read(
  routes: readonly Route[],
  method: string,
  { pathname, searchParams }: URL,
  body: unknown,
) {
  for (const { pattern, ...route } of routes) {
    const path = route.method === method ? pattern.exec(pathname) : null;
    if (path === null) continue;
    const { input } = route.row;
    const given = typeof body === "string" ? JSON.parse(body) : {};
    return {
      ...route,
      input: {
        ...input.body?.parse(given),
        ...input.query?.parse(Object.fromEntries(searchParams)),
        ...input.path?.parse({ ...path.groups }),
      },
    };
  }
  throw new Error(`there is no ${method} ${pathname}`);
}

function answerOf(statusCode: number, value: unknown) {
  const text = JSON.stringify(value ?? null);
  return { statusCode, headers: {}, body: wholeOf(text) };
}

async function* wholeOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/** A body that comes bit by bit, until it is over, cut off, or not wanted any more. */
function streamOf(
  network: Network,
  { content, headers = {} }: Stream,
  behind: Behind,
  { caller, gone, aborts }: { caller: Process; gone: AbortController; aborts: AbortSignal },
) {
  const body = new Readable({ read() {} });
  const streams = behind.streamsOf();
  const end = (error: unknown) => {
    streams?.delete(cut);
    gone.abort();
    const reason = error instanceof Error ? error : new Error(String(error));
    network.clock.tell(() => void (caller.isAlive && body.destroy(reason)), caller);
  };
  const cut = () => end(new Error("the connection was reset"));
  streams?.add(cut);
  body.on("error", () => {});
  body.on("close", () => end(undefined));
  aborts.addEventListener("abort", () => end(aborts.reason), { once: true });
  let pushedAt = 0;
  const coming: unknown[] = [];
  const push = (chunk: unknown) => {
    // In order, also where what is late comes to be on time again, or control slept meanwhile.
    coming.push(chunk);
    pushedAt = Math.max(pushedAt, network.clock.now() + behind.lateMs());
    const told = () => {
      const next = coming.shift();
      if (caller.isAlive && !gone.signal.aborted) body.push(next);
    };
    if (pushedAt <= network.clock.now()) network.clock.tell(told, caller);
    else network.clock.after(pushedAt - network.clock.now(), told, caller);
  };
  const beat = () => {
    if (gone.signal.aborted) return;
    push("\n");
    network.clock.after(heartbeatMs, beat);
  };
  if (headers["log-offset"] === undefined) network.clock.after(heartbeatMs, beat);
  void send(content, push).catch(cut);
  return { statusCode: 200, headers, body };
}

async function send(content: Stream["content"], push: (chunk: unknown) => unknown): Promise<void> {
  for await (const chunk of content) push(chunk);
  push(null);
}
