import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Stream } from "../../agent/server.ts";
import { errorTypes, toAppError } from "../../common/errors.ts";
import { type Operation, routeOf } from "../../common/operation.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { UnservedAgent } from "../helpers/fake-agent.ts";
import type { Network } from "./network.ts";

/** What lies behind a door. */
export interface Behind {
  /** The agent, while it answers. */
  agent(): UnservedAgent | undefined;
  /** What cuts off each of the answers that go on. */
  streamsOf(): Set<() => void> | undefined;
  /** Called with what an operation of the agent answered. */
  answered(name: string, result: unknown): void;
}

const routes = Object.entries(agentOperations).map(([name, row]: [string, Operation]) => {
  const { method, path } = routeOf(row);
  return {
    name,
    row,
    method,
    pattern: new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
  };
});

const heartbeatMs = 5_000;

/** The way to an agent over a simulated network: as much of a Dispatcher as control uses. */
export function openDoor(network: Network, subject: string, behind: Behind): Dispatcher {
  async function request({ method, path, body, signal }: Dispatcher.RequestOptions) {
    const url = new URL(path, "http://agent");
    const { name, row, input } = read(String(method), url, body);
    const aborts = signal as AbortSignal;
    return network.call("agent", `${name} ${subject}`, aborts, async () => {
      const agent = behind.agent();
      if (agent === undefined) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      const gone = new AbortController();
      const run = agent.bound[name as keyof typeof agent.bound] as (
        input: unknown,
        exchange: unknown,
      ) => unknown;
      try {
        const result = await run(input, { body: Readable.from([]), signal: gone.signal });
        behind.answered(name, result);
        if (row.mode !== "stream") return answerOf(200, result);
        return streamOf(network, result as Stream, behind, gone, aborts);
      } catch (error) {
        const { type, message, details } = toAppError(error);
        return answerOf(errorTypes[type].http, { type, message, details });
      }
    });
  }
  const door: Pick<Dispatcher, "destroy"> & { request: typeof request } = {
    request,
    destroy: (async () => {}) as Dispatcher["destroy"],
  };
  return door as unknown as Dispatcher;
}

function read(method: string, { pathname, searchParams }: URL, body: unknown) {
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
  throw new Error(`an agent has no ${method} ${pathname}`);
}

function answerOf(statusCode: number, value: unknown) {
  const text = JSON.stringify(value ?? null);
  return {
    statusCode,
    headers: {},
    body: { json: async () => JSON.parse(text), text: async () => text },
  };
}

/** A body that comes bit by bit, until it is over, cut off, or not wanted any more. */
function streamOf(
  network: Network,
  { content, headers = {} }: Stream,
  behind: Behind,
  gone: AbortController,
  signal: AbortSignal,
) {
  const body = new Readable({ read() {} });
  const isOurs = network.sameProgram();
  const streams = behind.streamsOf();
  const end = (error: unknown) => {
    streams?.delete(cut);
    gone.abort();
    if (isOurs()) body.destroy(error instanceof Error ? error : new Error(String(error)));
  };
  const cut = () => end(new Error("the connection was reset"));
  streams?.add(cut);
  body.on("error", () => {});
  body.on("close", () => end(undefined));
  signal.addEventListener("abort", () => end(signal.reason), { once: true });
  const beat = () => {
    if (gone.signal.aborted) return;
    if (isOurs()) body.push("\n");
    network.clock.after(heartbeatMs, beat);
  };
  if (headers["log-offset"] === undefined) network.clock.after(heartbeatMs, beat);
  void send(content, (chunk) => isOurs() && !gone.signal.aborted && body.push(chunk)).catch(cut);
  return { statusCode: 200, headers, body };
}

async function send(content: Stream["content"], push: (chunk: unknown) => unknown): Promise<void> {
  for await (const chunk of content) push(chunk);
  push(null);
}
