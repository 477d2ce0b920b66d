import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { listenOn } from "./forward/listen.ts";
import type { Address } from "./settings.ts";

/** What the sidecar says of itself. */
export interface Monitored {
  /** Whether it takes requests. */
  isServing(): boolean;
  metrics(): Promise<string>;
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const pages: Readonly<Record<string, (monitored: Monitored) => Promise<Page>>> = {
  "/metrics": async (monitored) =>
    page(200, "text/plain; version=0.0.4", await monitored.metrics()),
  "/healthz": async (monitored) =>
    monitored.isServing() ? json(200, { status: "ok" }) : json(503, { status: "draining" }),
};

const page = (status: number, type: string, text: string): Page => ({ status, type, text });
const json = (status: number, value: object): Page =>
  page(status, "application/json", JSON.stringify(value));

/** Serves metrics and health on an address of their own, which clients should not reach; answers where. */
export function serveMonitor(monitored: Monitored, listen: Address): Promise<AddressInfo> {
  const { createServer } = process.getBuiltinModule("node:http");
  const server = createServer((req, res) => void answer(monitored, req, res));
  return listenOn(server, listen);
}

async function answer(
  monitored: Monitored,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const path = req.url?.replace(/\?.*/, "") ?? "/";
  const found = Object.hasOwn(pages, path) ? pages[path] : undefined;
  const { status, type, text } = (await found?.(monitored)) ?? json(404, { error: "Not Found" });
  res.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) });
  res.end(text);
}
