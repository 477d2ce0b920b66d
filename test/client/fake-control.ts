import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";

/** A call that the fake was sent. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** Empty for a body that is no JSON. */
  readonly body: Record<string, unknown>;
  readonly text: string;
}

/** Answers by hand. */
export type Handler = (seen: Seen, res: ServerResponse) => void | Promise<void>;

/** What a stored request ends with. */
export interface Ending {
  readonly result?: unknown;
  readonly error?: { readonly type: string; readonly message: string };
  readonly cancelled?: true;
  /** What it prints. */
  readonly log?: string;
}

/** How a route answers: by hand, or as a stored request with this ending. */
export type Routes = Readonly<Record<string, Handler | Ending>>;

export interface FakeControl {
  readonly endpoint: string;
  readonly seen: Seen[];
  /** The calls to one route. */
  to(route: string): Seen[];
}

/** A control plane on loopback that speaks the protocol just far enough; closed with the test. */
export async function fakeControl(t: TestContext, routes: Routes): Promise<FakeControl> {
  const seen: Seen[] = [];
  const requests = new Map<string, Ending>();
  const server = createServer(async (req, res) => {
    const call = await readCall(req);
    seen.push(call);
    const route = routes[`${call.method} ${call.path}`];
    if (typeof route === "function") return route(call, res);
    if (call.path === "/api/get") return getRequest(call, res, requests);
    if (call.path === "/api/stream") return streamRequest(call, res, requests);
    if (route === undefined) return sendJson(res, 404, { detail: `no ${call.path}` });
    const id = randomUUID();
    requests.set(id, route);
    res.setHeader("x-skypilot-request-id", id);
    sendJson(res, 200, null);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const to = (route: string) => seen.filter(({ method, path }) => `${method} ${path}` === route);
  return { endpoint: `http://127.0.0.1:${port}`, seen, to };
}

export function sendJson(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/** One control line of a stream. */
export const controlLine = (code: string, message = ""): string =>
  `<sky-payload>${JSON.stringify(`<${code}>${message}</${code}>`)}</sky-payload>\n`;

async function readCall(req: IncomingMessage): Promise<Seen> {
  const url = new URL(req.url ?? "/", "http://localhost");
  const sent = await text(req);
  return {
    method: req.method ?? "",
    path: url.pathname,
    query: url.searchParams,
    headers: req.headers,
    body: isJson(req) ? JSON.parse(sent) : {},
    text: sent,
  };
}

const isJson = ({ headers }: IncomingMessage): boolean =>
  headers["content-type"] === "application/json";

function findEnding(call: Seen, requests: ReadonlyMap<string, Ending>): [string, Ending] {
  const prefix = call.query.get("request_id") ?? "";
  const found = [...requests].find(([id]) => id.startsWith(prefix));
  return found ?? [prefix, { error: { type: "NotFoundError", message: `no request ${prefix}` } }];
}

function getRequest(call: Seen, res: ServerResponse, requests: ReadonlyMap<string, Ending>): void {
  const [request_id, { result = null, error, cancelled }] = findEnding(call, requests);
  const record = {
    request_id,
    status: cancelled ? "CANCELLED" : error ? "FAILED" : "SUCCEEDED",
    return_value: JSON.stringify(result),
    error: JSON.stringify(error ?? null),
  };
  if (error === undefined) sendJson(res, 200, record);
  else sendJson(res, 500, { ...record, detail: record });
}

function streamRequest(call: Seen, res: ServerResponse, requests: ReadonlyMap<string, Ending>) {
  const [, { log = "" }] = findEnding(call, requests);
  res.writeHead(200, { "content-type": "text/plain" }).end(log);
}
