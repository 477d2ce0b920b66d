import type { IncomingMessage, Server } from "node:http";
import type { Config } from "../config.ts";
import { refuseOn } from "./connections.ts";

/** No JSON body may be larger. */
export const bodyLimitBytes = 4 * 1024 * 1024;

/** A smaller body is always taken: it costs no more than its connection. */
const smallBytes = 64 * 1024;
/** The least that counts as progress, in each stretch of `stalledSeconds`. */
const progressBytes = 256;

/** Ends bodies that make no progress, with 408; those that come slowly but steadily are waited for. */
export function watchBodies(server: Server, { stalledSeconds }: Pick<Config, "stalledSeconds">) {
  server.on("request", (req: IncomingMessage) => {
    if (bytesOf(req) === 0) return;
    // Nearly all bodies come together with their heads, and are whole in the next turn.
    setImmediate(() => {
      const isOver = req.complete || req.destroyed || req.socket === null;
      if (!isOver) watch(req, stalledSeconds * 1_000);
    });
  });
}

function watch(req: IncomingMessage, everyMs: number): void {
  const { socket } = req;
  let before = socket.bytesRead;
  let lookedAt = performance.now();
  const timer = setInterval(() => {
    if (req.complete) return clearInterval(timer);
    const read = socket.bytesRead - before;
    // What control was too busy to read is not the client's fault.
    const isLate = performance.now() - lookedAt > 1.5 * everyMs;
    before = socket.bytesRead;
    lookedAt = performance.now();
    if (read < progressBytes && !isLate) refuseOn(socket, "408 Request Timeout", stalled);
  }, everyMs);
  untilOver(req, () => clearInterval(timer));
}

const stalled = "the upload of the body stalled and was aborted; send it again";

/** The memory for bodies on their way in: takes a request, or says that there is no room for its body. */
export function openBodyMemory({ bodyMemoryMegabytes }: Pick<Config, "bodyMemoryMegabytes">) {
  const mostBytes = bodyMemoryMegabytes * 1024 * 1024;
  let keptBytes = 0;
  return (req: IncomingMessage): boolean => {
    const bytes = Math.min(bytesOf(req), bodyLimitBytes);
    if (bytes <= smallBytes) return true;
    if (keptBytes + bytes > mostBytes) return false;
    keptBytes += bytes;
    untilOver(req, () => {
      keptBytes -= bytes;
    });
    return true;
  };
}

/** How large a body says it is; one that does not say may be as large as is allowed. */
function bytesOf({ headers }: IncomingMessage): number {
  const isChunked = headers["transfer-encoding"] !== undefined;
  return isChunked ? bodyLimitBytes : Number(headers["content-length"] ?? 0);
}

/** Calls back once, when the body is whole or its connection closed. */
function untilOver(req: IncomingMessage, over: () => void): void {
  const { socket } = req;
  const once = () => {
    req.off("end", once);
    socket.off("close", once);
    over();
  };
  if (socket.destroyed) return void over();
  req.once("end", once);
  socket.once("close", once);
}
