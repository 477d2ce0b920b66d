import type { ClientRequest, IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type HttpProxy from "http-proxy";
import { belongsInHead } from "../chunked.ts";
import { Channel } from "./channel.ts";
import type { Engine } from "./front.ts";
import type { Address } from "./route.ts";
import { keepAliveMs } from "./sockets.ts";
import { openSplice } from "./splice.ts";

/** Names that only one hop may see. Source: RFC 9110 section 7.6.1. */
const hopNames = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "te",
  // Node.js throws at it where it sees no chunks.
  "trailer",
  "upgrade",
]);

/** The request that came over each connection into the server of `node:http`. */
type Channels = WeakMap<Duplex, Channel>;

/**
 * The engine for upstreams that need `http-proxy`. What reaches it was checked and written anew, as
 * for `splice`; what it loses on the way is put back where it can be.
 */
export async function openHttpProxy(): Promise<Engine> {
  const { default: factory } = await import("http-proxy");
  const proxy = factory.createProxyServer({ toProxy: true, preserveHeaderKeyCase: true });
  const splice = openSplice();
  const channels: Channels = new WeakMap();
  const server = serverOf(proxy, channels);
  mend(proxy, channels);
  const connecting = connectingOf(proxy);
  return {
    begin(client, to) {
      if (client.passage.wantsWebSocket) return splice.begin(client, to);
      const channel = new Channel(client, to);
      const { inner } = channel;
      channels.set(inner, channel);
      connecting.set(inner, client.front.nowMs + client.front.limits.connectMs);
      inner.once("close", () => connecting.delete(inner));
      server.emit("connection", inner);
      return channel;
    },
    sweep(nowMs) {
      splice.sweep(nowMs);
      for (const [inner, untilMs] of connecting)
        if (untilMs < nowMs) channels.get(inner)?.fail("upstreamTimeout");
    },
    close: () => splice.close(),
  };
}

/** Reads requests for the library. It listens nowhere: its connections are handed to it. */
function serverOf(proxy: HttpProxy, channels: Channels): Server {
  const forward = (req: IncomingMessage, res: ServerResponse) => {
    const channel = channels.get(req.socket);
    res.once("finish", () => channel?.finish());
    // Said without being asked, this would make every answer longer than the upstream's.
    res.sendDate = false;
    const target = channel && targetOf(channel.to);
    if (target === undefined) return void channel?.fail("unsupported");
    proxy.web(req, res, { target }, () => channel?.fail("upstreamRefused"));
  };
  // Only who uses this engine pays for the server, and nobody for the WebSocket that comes with it.
  const { createServer } = process.getBuiltinModule("node:http");
  const server = createServer({ maxHeaderSize: 131_072, keepAliveTimeout: 0 }, forward);
  // As many as the check let through.
  server.maxHeadersCount = 0;
  server.on("checkContinue", (req, res) => {
    res.writeContinue();
    forward(req, res);
  });
  server.on("checkExpectation", forward);
  server.on("clientError", (_, socket) => channels.get(socket)?.fail("unsupported"));
  return server;
}

/** Connections whose request has none to the upstream yet, each with when it must have; those that have leave. */
function connectingOf(proxy: HttpProxy): Map<Duplex, number> {
  const connecting = new Map<Duplex, number>();
  proxy.on("proxyReq", ({ socket }, req) =>
    socket?.once("connect", () => connecting.delete(req.socket)),
  );
  return connecting;
}

/** An upstream as the library takes it, which connects by itself. */
function targetOf(to: Address): { protocol: string; host: string; port: number } | undefined {
  if (!("port" in to)) return undefined;
  return { protocol: "http:", host: to.host ?? "localhost", port: to.port };
}

/** Puts back what is lost: names' case, repeated headers, targets, trailers, early heads, ends. */
function mend(proxy: HttpProxy, channels: Channels): void {
  proxy.on("start", (req) => {
    req.headers = headersOf(req.rawHeaders);
  });
  proxy.on("proxyReq", (outgoing, req) => {
    outgoing.path = req.url ?? "/";
    outgoing.setSocketKeepAlive(true, keepAliveMs);
    req.socket.once("close", () => outgoing.destroy());
    req.prependOnceListener("end", () => addTrailers(outgoing, req.rawTrailers));
    outgoing.once("upgrade", (_, socket) => {
      socket.destroy();
      channels.get(req.socket)?.fail("upstreamInvalid");
    });
    outgoing.on("information", ({ statusCode, statusMessage, rawHeaders }) => {
      if (statusCode === 100) return;
      if (!reason.test(statusMessage))
        return void channels.get(req.socket)?.fail("upstreamInvalid");
      const head = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${linesOf(rawHeaders)}\r\n`;
      channels.get(req.socket)?.inform(head);
    });
  });
  proxy.on("proxyRes", (answer, req, res) => {
    const channel = channels.get(req.socket);
    if (channel?.client === undefined) return;
    if (!isValid(answer)) return void channel.fail("upstreamInvalid");
    answer.headers = Object.fromEntries(groupsOf(answer.rawHeaders));
    dropHops(answer.headers);
    if (answer.statusCode === 204) delete answer.headers["content-length"];
    answer.headers.connection = channel.client.closes(true) ? "close" : "keep-alive";
    channel.status = answer.statusCode ?? 0;
    answer.once("end", () => addTrailers(res, answer.rawTrailers));
    answer.once("close", () => {
      if (!answer.complete) channel.fail("upstreamRefused");
    });
    // Only now the library writes the head, and Node.js would keep it until the first byte.
    process.nextTick(() => res.flushHeaders());
  });
}

const reason = /^[\t\x20-\x7e\x80-\xff]*$/;
const framing = /^(content-length|transfer-encoding)$/i;

/** Whether an answer can be passed on. Some that Node.js reads it throws at when it is to write them. */
function isValid({
  httpVersionMajor,
  statusCode = 0,
  statusMessage = "",
  headers,
}: IncomingMessage) {
  const coding = headers["transfer-encoding"] ?? "chunked";
  const isHead = httpVersionMajor === 1 && statusCode >= 100 && reason.test(statusMessage);
  return isHead && /^chunked$/i.test(coding);
}

/**
 * All of them; the length that was added for DELETE is not among them. The library copies them from
 * the last to the first.
 */
function headersOf(raw: readonly string[]): IncomingMessage["headers"] {
  const kept = groupsOf(raw).filter(([name]) => name !== "expect" && name !== "trailer");
  const letters = new Map(
    pairsOf(raw)
      .reverse()
      .map(([name]) => [name.toLowerCase(), name]),
  );
  return Object.fromEntries(kept.reverse().map(([name, all]) => [letters.get(name) ?? name, all]));
}

/** Each header once, in lower case, with its value or values; without the name that no object can hold. */
function groupsOf(raw: readonly string[]): [name: string, value: string | string[]][] {
  const groups = Map.groupBy(pairsOf(raw), ([name]) => name.toLowerCase());
  groups.delete("__proto__");
  return [...groups].map(([name, lines]) => {
    const [first = "", ...more] = lines.map(([, value]) => value);
    return [name, more.length === 0 ? first : [first, ...more]];
  });
}

function dropHops(headers: Record<string, unknown>): void {
  const named = String(headers["connection"] ?? "").split(",");
  for (const name of [...hopNames, ...named.map((one) => one.trim().toLowerCase())])
    delete headers[name];
}

function addTrailers(message: ClientRequest | ServerResponse, raw: readonly string[]): void {
  const kept = pairsOf(raw).filter(([name]) => !belongsInHead(name));
  if (kept.length > 0) message.addTrailers(kept);
}

/** Of a head without a body, the lines that are passed on. */
const linesOf = (raw: readonly string[]): string =>
  pairsOf(raw)
    .filter(([name]) => !hopNames.has(name.toLowerCase()) && !framing.test(name))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

const pairsOf = (raw: readonly string[]): [name: string, value: string][] =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""]] : []));
