import type { Server } from "node:http";
import type { Socket } from "node:net";
import { type ErrorType, errorCodeOf } from "../../common/errors.ts";
import { openProxies } from "../access/proxies.ts";
import { recordRefused } from "../audit/entry.ts";
import type { Context } from "../context.ts";
import { versionHeaders } from "../wire/versions.ts";
import { part } from "./connections.ts";

interface Refusal {
  readonly status: string;
  readonly type: ErrorType;
  readonly detail: string;
}

const unknownMethod: Refusal = {
  status: "501 Not Implemented",
  type: "NotImplementedError",
  detail: "no operation takes this HTTP method; /docs lists what there is",
};

const headersTooLarge: Refusal = {
  status: "431 Request Header Fields Too Large",
  type: "TooLargeError",
  detail: "the headers are larger than 16 KB",
};

/** What is answered where there is no request that could be looked at, by the code of Node.js's error. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_INVALID_METHOD: unknownMethod,
  HPE_HEADER_OVERFLOW: headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    type: "TimeoutError",
    detail: "the request did not arrive in time",
  },
};

const unreadable: Refusal = {
  status: "400 Bad Request",
  type: "ValueError",
  detail: "this is not a valid HTTP request",
};

/**
 * Answers what came in place of a request that can be read, and hangs up. Headers that are too large may
 * be an attack on what reads credentials, and are audited.
 */
export function refuseUnreadable(ctx: Context) {
  const proxies = openProxies(ctx.config.proxyAddresses);
  return (error: Error, socket: Socket): void => {
    // What still comes of a request that was refused is read and dropped, so that its client gets the answer.
    if (socket.writableEnded) return;
    if (!socket.writable || errorCodeOf(error) === "ECONNRESET") return void socket.destroy();
    const refusal = refusals[errorCodeOf(error) ?? ""] ?? unreadable;
    if (refusal === headersTooLarge)
      void recordRefused(ctx, entryFrom(proxies.clientOf({ headers: {}, socket })));
    part(socket, answerOf(refusal));
  };
}

/** The name under which the log has headers that nobody read. */
export const headersTooLargeName = "request.headers_too_large";

const entryFrom = (address: string) => ({
  ...{ userId: "", userName: "", credential: "", address, operation: headersTooLargeName },
  ...{ subject: null, reason: headersTooLarge.detail, requestId: null },
});

/** Answers CONNECT, which is no request to us, as a method that nothing takes. */
export function refuseTunnels(server: Server): void {
  server.on("connect", (_req, socket) => part(socket, answerOf(unknownMethod)));
}

function answerOf({ status, type, detail }: Refusal): string {
  const body = JSON.stringify({ detail, type });
  const headers = {
    ...versionHeaders,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${body}`;
}
