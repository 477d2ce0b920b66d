import type { AnswerHead } from "../answer-head.ts";
import { bytesOf } from "../bytes.ts";
import type { Hops } from "../connection.ts";
import type { RequestHead } from "../request-head.ts";

const lineEnd = bytesOf("\r\n");
const versions = [bytesOf(" HTTP/1.0\r\n"), bytesOf(" HTTP/1.1\r\n")] as const;
const chunkedLine = bytesOf("Transfer-Encoding: chunked\r\n");
const webSocketLines = bytesOf("Connection: Upgrade\r\nUpgrade: websocket\r\n");
const closeLine = bytesOf("Connection: close\r\n");
const hostName = bytesOf("Host: ");
const status = bytesOf("HTTP/1.1");

/** What the lines that we add to a request may need besides the client's part. */
const ownBytes = 256;

/** How many bytes the request may have once it is written for the upstream. */
export const roomFor = (head: RequestHead, forwarded: Buffer): number =>
  head.to - head.from + 2 * (head.hostTo - head.hostFrom) + forwarded.length + ownBytes;

/** The lines about a client that are the same for all its requests, up to the host's value. */
export const forwardedLines = (address: string, scheme: "http" | "https"): Buffer =>
  bytesOf(`X-Forwarded-For: ${address}\r\nX-Forwarded-Proto: ${scheme}\r\nX-Forwarded-Host: `);

/**
 * Writes a request's head as the upstream gets it, from what was parsed: nothing for this hop
 * alone, one way of framing. Answers its length.
 */
export function writeRequestHead(
  head: RequestHead,
  bytes: Buffer,
  forwarded: Buffer,
  into: Buffer,
): number {
  let at = copy(bytes, head.from, head.methodTo + 1, into, 0);
  at = copy(bytes, head.pathFrom, head.targetTo, into, at);
  at = append(head.minor === 0 ? versions[0] : versions[1], into, at);
  if (head.isAbsolute) at = writeHost(head, bytes, into, append(hostName, into, at));
  at = copyKept(head, bytes, head.fieldsFrom, head.fieldsTo, into, at);
  if (head.framing === "chunked") at = append(chunkedLine, into, at);
  if (head.wantsWebSocket) at = append(webSocketLines, into, at);
  at = writeHost(head, bytes, into, append(forwarded, into, at));
  return append(lineEnd, into, at);
}

const writeHost = (head: RequestHead, bytes: Buffer, into: Buffer, at: number): number =>
  append(lineEnd, into, copy(bytes, head.hostFrom, head.hostTo, into, at));

/** How many bytes the answer's head may have once it is written for the client. */
export const roomForAnswer = (head: AnswerHead, from: number): number => head.to - from + ownBytes;

/** Writes an answer's head as the client gets it, and whether it is the connection's last. */
export function writeAnswerHead(
  head: AnswerHead,
  bytes: Buffer,
  closes: boolean,
  into: Buffer,
): number {
  let at = append(status, into, 0);
  at = copy(bytes, head.statusFrom, head.fieldsFrom, into, at);
  at = copyKept(head, bytes, head.fieldsFrom, head.fieldsTo, into, at);
  if (head.framing === "chunked" && head.status !== 204 && head.status >= 200)
    at = append(chunkedLine, into, at);
  if (head.status === 101) at = append(webSocketLines, into, at);
  if (closes) at = append(closeLine, into, at);
  return append(lineEnd, into, at);
}

/** Copies the lines that are passed on, in as few pieces as there are lines that are not. */
function copyKept(
  { drops, dropCount }: Hops,
  bytes: Buffer,
  from: number,
  to: number,
  into: Buffer,
  start: number,
): number {
  let at = start;
  let kept = from;
  for (let i = 0; i < dropCount; i++) {
    at = copy(bytes, kept, drops[2 * i] ?? to, into, at);
    kept = drops[2 * i + 1] ?? to;
  }
  return copy(bytes, kept, to, into, at);
}

/** Shorter pieces are copied sooner byte by byte than by a call into the runtime. */
const shortBytes = 48;

/** Copies bytes; answers the offset after them. */
export function copy(bytes: Buffer, from: number, to: number, into: Buffer, at: number): number {
  if (to - from <= shortBytes) for (let i = from, j = at; i < to; i++, j++) into[j] = bytes[i] ?? 0;
  else bytes.copy(into, at, from, to);
  return at + (to - from);
}

const append = (piece: Buffer, into: Buffer, at: number): number =>
  copy(piece, 0, piece.length, into, at);
