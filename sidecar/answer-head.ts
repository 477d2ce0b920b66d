import { byte, bytesOf, isValue } from "./bytes.ts";
import { clearHops, drop, dropNamed, type Hops, newHops, takeConnection } from "./connection.ts";
import { fieldsOf, isChunked, line, readLength, readLine, takeLine } from "./fields.ts";
import type { Refusal } from "./refusals.ts";
import type { Framing, Method } from "./request-head.ts";

const headBytesAtMost = 65_536;

/** The head of an upstream's answer: offsets into the bytes it was read from, and what they mean. */
export interface AnswerHead extends Hops {
  /** Of the request that is answered. */
  method: Method;
  status: number;
  minor: number;
  framing: Framing;
  length: number;
  /** Whether the upstream takes another request on this connection. */
  canStay: boolean;
  /** Seconds that the upstream says it keeps an idle connection; 0 when it says nothing. */
  keepAliveSeconds: number;
  /** After `HTTP/1.x`. */
  statusFrom: number;
  fieldsFrom: number;
  fieldsTo: number;
  to: number;
}

/** A head to be filled by `parseAnswerHead`, one answer after the other. */
export const newAnswerHead = (): AnswerHead => ({
  ...newHops(),
  method: "GET",
  status: 0,
  minor: 1,
  framing: "none",
  length: 0,
  canStay: false,
  keepAliveSeconds: 0,
  statusFrom: 0,
  fieldsFrom: 0,
  fieldsTo: 0,
  to: 0,
});

/** Reads the head of an answer to a request with this method. Source: RFC 9112 section 6.3. */
export function parseAnswerHead(
  head: AnswerHead,
  method: Method,
  bytes: Uint8Array,
  from: number,
  to: number,
): "complete" | "incomplete" | "refused" {
  clearHops(head);
  head.method = method;
  head.framing = "none";
  head.length = 0;
  head.keepAliveSeconds = 0;
  const found = readStatusLine(head, bytes, from, to) ?? readFields(head, bytes, to);
  if (found === "incomplete") return to - from > headBytesAtMost ? "refused" : "incomplete";
  if (found !== undefined) return "refused";
  return frame(head) ? "complete" : "refused";
}

const version = bytesOf("HTTP/1.");

type Found = Refusal | "incomplete" | undefined;

function readStatusLine(head: AnswerHead, bytes: Uint8Array, from: number, to: number): Found {
  for (let i = 0; i < version.length; i++) {
    if (from + i === to) return "incomplete";
    if (bytes[from + i] !== version[i]) return "upstreamInvalid";
  }
  const at = from + version.length;
  if (at + 7 > to) return "incomplete";
  head.minor = digit(bytes[at]);
  head.statusFrom = at + 1;
  const code = [digit(bytes[at + 2]), digit(bytes[at + 3]), digit(bytes[at + 4])] as const;
  head.status = code[0] * 100 + code[1] * 10 + code[2];
  const isStatus = code.every((one) => one >= 0 && one <= 9) && head.status >= 100;
  if ((head.minor !== 0 && head.minor !== 1) || bytes[at + 1] !== byte.space || !isStatus)
    return "upstreamInvalid";
  return readReason(head, bytes, at + 5, to);
}

const digit = (code: number | undefined): number => (code ?? 0) - byte.zero;

function readReason(head: AnswerHead, bytes: Uint8Array, from: number, to: number): Found {
  const end = bytes.indexOf(byte.cr, from);
  if (end < 0 || end + 1 >= to) return "incomplete";
  if (bytes[end + 1] !== byte.lf) return "upstreamInvalid";
  if (bytes[from] !== byte.space && bytes[from] !== byte.cr) return "upstreamInvalid";
  for (let at = from; at < end; at++) if (isValue[bytes[at] ?? 0] !== 1) return "upstreamInvalid";
  head.fieldsFrom = end + 2;
  return undefined;
}

function readFields(head: AnswerHead, bytes: Uint8Array, to: number): Found {
  for (let at = head.fieldsFrom; ; at = line.to) {
    const found = readLine(bytes, at, to);
    if (found === "end") {
      head.fieldsTo = at;
      head.to = line.to;
      dropNamed(head, bytes, head.fieldsFrom, head.to);
      return undefined;
    }
    if (found !== "line") return found;
    const refusal = takeLine(fields, head, bytes);
    if (refusal !== undefined) return refusal;
  }
}

/** Says how the body ends; false when what was said of it cannot be. */
function frame(head: AnswerHead): boolean {
  const { status, method, minor, framing } = head;
  if (framing === "chunked" && minor === 0) return false;
  const hasNoBody = status < 200 || status === 204 || status === 304 || method === "HEAD";
  if (!hasNoBody && framing === "none") head.framing = "untilClose";
  const isOpen = minor === 1 ? !head.close : head.keepAlive && !head.close;
  head.canStay = isOpen && head.framing !== "untilClose";
  return true;
}

/** Whether an answer with this head has a body, given what it answers. */
export const hasBody = ({ status, method, framing }: AnswerHead): boolean =>
  framing !== "none" && method !== "HEAD" && status >= 200 && status !== 204 && status !== 304;

/** The headers that an answer's way depends on; all others are passed on as they are. */
const fields = fieldsOf<AnswerHead>({
  te: drop,
  upgrade: drop,
  "proxy-connection": drop,
  "proxy-authenticate": drop,
  "keep-alive": takeKeepAlive,
  connection: takeConnection,
  "content-length": takeLength,
  "transfer-encoding": takeCoding,
});

function takeLength(head: AnswerHead, bytes: Uint8Array): Refusal | undefined {
  if (head.framing !== "none") return "upstreamInvalid";
  head.framing = "length";
  head.length = readLength(bytes);
  if (head.length < 0) return "upstreamInvalid";
  // Such answers have no body, but who reads them carelessly would wait for one. RFC 9110 8.6.
  return head.status < 200 || head.status === 204 ? drop(head) : undefined;
}

function takeCoding(head: AnswerHead, bytes: Uint8Array): Refusal | undefined {
  if (head.framing !== "none" || !isChunked(bytes)) return "upstreamInvalid";
  head.framing = "chunked";
  return drop(head);
}

const timeout = bytesOf("timeout=");

function takeKeepAlive(head: AnswerHead, bytes: Uint8Array): Refusal | undefined {
  const from = line.valueFrom + timeout.length;
  let seconds = 0;
  for (let at = from; at < line.valueTo; at++) {
    const value = digit(bytes[at]);
    if (value < 0 || value > 9 || seconds > 1e6) break;
    seconds = seconds * 10 + value;
  }
  head.keepAliveSeconds = seconds;
  return drop(head);
}
