import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { type ErrorType, errorCodeOf } from "../../common/errors.ts";
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

/** What is answered where there is no request that could be looked at, by the code of Node.js's error. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_INVALID_METHOD: unknownMethod,
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    type: "TooLargeError",
    detail: "the headers are larger than 16 KB",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    type: "TimeoutError",
    detail: "the request did not come whole in time",
  },
};

const unreadable: Refusal = {
  status: "400 Bad Request",
  type: "ValueError",
  detail: "this is no HTTP request that can be read",
};

/** Answers what came in place of a request that can be read, and hangs up. */
export function refuseUnreadable(error: Error, socket: Duplex): void {
  if (socket.writable && errorCodeOf(error) !== "ECONNRESET")
    socket.write(answerOf(refusals[errorCodeOf(error) ?? ""] ?? unreadable));
  socket.destroy();
}

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
