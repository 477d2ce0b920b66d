import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** A web server on loopback with files that the test may change at any time. */
export interface SourceServer {
  readonly url: string;
  /** What is served at each path. */
  readonly files: Map<string, { bytes: Buffer; etag?: string }>;
  /** The requests so far: path and range. */
  readonly asked: { path: string; offset: number; authorization: string | undefined }[];
  /** Bytes of contents that were sent. */
  sent: number;
  /** Answers in place of the server where it returns true. */
  intercept(req: IncomingMessage, res: ServerResponse): boolean;
  hasRanges: boolean;
}

/** Starts a server that serves ranges and ETags, as stores do. */
export async function startSource(t: Cleaner): Promise<SourceServer> {
  const http = createServer((req, res) => {
    const path = req.url ?? "";
    const [, first = "0", last = ""] = /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? "") ?? [];
    const { authorization } = req.headers;
    source.asked.push({ path, offset: Number(first), authorization });
    if (!source.intercept(req, res)) answer(source, path, { first, last }, res);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    http.closeAllConnections();
    http.close();
  });
  const source: SourceServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    files: new Map(),
    asked: [],
    sent: 0,
    intercept: () => false,
    hasRanges: true,
  };
  return source;
}

function answer(
  source: SourceServer,
  path: string,
  { first, last }: { first: string; last: string },
  res: ServerResponse,
): void {
  const file = source.files.get(path);
  if (file === undefined) return void res.writeHead(404).end("<Code>NoSuchKey</Code>");
  const { bytes, etag } = file;
  const size = bytes.length;
  const offset = source.hasRanges ? Number(first) : 0;
  const end = source.hasRanges && last !== "" ? Math.min(size, Number(last) + 1) : size;
  const part = bytes.subarray(offset, end);
  const told = { "content-length": part.length, ...(etag && { etag }) };
  const range = `bytes ${offset}-${end - 1}/${size}`;
  if (source.hasRanges) res.writeHead(206, { ...told, "content-range": range });
  else res.writeHead(200, told);
  source.sent += part.length;
  res.end(part);
}
