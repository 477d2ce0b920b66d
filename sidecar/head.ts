import { bytesOf, equalsAnyCase, isAuthorityOnly } from "./bytes.ts";
import { clearHops, drop, dropNamed, newHops, takeConnection } from "./connection.ts";
import { fieldsOf, isChunked, line, readLength, readLine, takeLine } from "./fields.ts";
import { forwardingNames, isForwarded, isPlainName } from "./forwarding-names.ts";
import { coverLogins } from "./login-cookies.ts";
import type { Refusal } from "./refusals.ts";
import type { HeadRules, RequestHead } from "./request-head.ts";
import { type Found, readRequestLine } from "./request-line.ts";

/** A head to be filled by `parseRequestHead`, one request after the other. */
export const newRequestHead = (rules: HeadRules): RequestHead => ({
  ...newHops(),
  refusal: undefined,
  rules,
  method: "OTHER",
  minor: 1,
  framing: "none",
  length: 0,
  expects: false,
  wantsWebSocket: false,
  isAbsolute: false,
  from: 0,
  methodTo: 0,
  targetFrom: 0,
  pathFrom: 0,
  targetTo: 0,
  hostFrom: -1,
  hostTo: -1,
  keyFrom: -1,
  keyTo: -1,
  fieldsFrom: 0,
  fieldsTo: 0,
  to: 0,
});

/**
 * Reads a request's head strictly, in place: whatever could be read in two ways is refused, and
 * `head.refusal` says why. Source: RFC 9112.
 */
export function parseRequestHead(
  head: RequestHead,
  bytes: Uint8Array,
  from: number,
  to: number,
): "complete" | "incomplete" | "refused" {
  clearHead(head);
  const found =
    readRequestLine(head, bytes, from, to) ?? readFields(head, bytes, to) ?? checkWhole(head);
  const isPart = found === "incomplete";
  const size = (isPart ? to : head.to) - from;
  const tooLarge = size > head.rules.headBytes ? "headTooLarge" : undefined;
  head.refusal = (isPart ? undefined : found) ?? tooLarge;
  if (head.refusal !== undefined) return "refused";
  return isPart ? "incomplete" : "complete";
}

/** Forgets the request before. */
export function clearHead(head: RequestHead): RequestHead {
  clearHops(head);
  head.method = "OTHER";
  head.minor = 1;
  head.framing = "none";
  head.length = 0;
  head.expects = false;
  head.wantsWebSocket = false;
  head.isAbsolute = false;
  head.hostFrom = -1;
  head.keyFrom = -1;
  return head;
}

function readFields(head: RequestHead, bytes: Uint8Array, to: number): Found {
  const urlHost = head.isAbsolute ? head.hostFrom : -1;
  const urlHostTo = head.hostTo;
  head.hostFrom = -1;
  let count = 0;
  for (let at = head.fieldsFrom; ; at = line.to) {
    const found = readLine(bytes, at, to);
    if (found === "end") {
      head.fieldsTo = at;
      head.to = line.to;
      break;
    }
    if (found !== "line") return found;
    if (++count > head.rules.headCount) return "tooManyHeaders";
    const refusal = isForwarded(bytes, line.from, line.nameTo)
      ? dropForwarded(head, bytes)
      : takeLine(fields, head, bytes, drop);
    if (refusal !== undefined) return refusal;
  }
  if (head.hostFrom < 0) return "badHost";
  dropNamed(head, bytes, head.fieldsFrom, head.to);
  if (urlHost >= 0) {
    head.hostFrom = urlHost;
    head.hostTo = urlHostTo;
  }
  return undefined;
}

/** What can be said only once all headers are known. */
function checkWhole(head: RequestHead): Found {
  if (head.framing === "chunked" && head.minor === 0) return "badCoding";
  if (!(head.upgrade && head.minor === 1 && head.method === "GET" && head.framing === "none"))
    head.wantsWebSocket = false;
  return undefined;
}

const webSocket = bytesOf("websocket");

/** The headers that a request's way depends on; all others are passed on as they are. */
const fields = fieldsOf<RequestHead>({
  te: drop,
  "keep-alive": drop,
  "proxy-connection": drop,
  "proxy-authorization": drop,
  "proxy-authenticate": drop,
  "http2-settings": drop,
  ...Object.fromEntries(forwardingNames.map((name) => [name, dropForwarded])),
  connection: takeConnection,
  host: takeHost,
  "content-length": takeLength,
  "transfer-encoding": takeCoding,
  authorization: takeAuthorization,
  cookie: takeCookie,
  expect: takeExpect,
  upgrade: takeUpgrade,
});

/** A proxy that is trusted writes plain names; another spelling came past it. */
function dropForwarded(head: RequestHead, bytes: Uint8Array): Refusal | undefined {
  const isTrusted = head.rules.trustForwarded && isPlainName(bytes, line.from, line.nameTo);
  return isTrusted ? undefined : drop(head);
}

function takeHost(head: RequestHead, bytes: Uint8Array): Refusal | undefined {
  if (head.hostFrom >= 0 || !isAuthorityOnly(bytes, line.valueFrom, line.valueTo)) return "badHost";
  head.hostFrom = line.valueFrom;
  head.hostTo = line.valueTo;
  return head.isAbsolute ? drop(head) : undefined;
}

function takeLength(head: RequestHead, bytes: Uint8Array): Refusal | undefined {
  if (head.framing === "chunked") return "badFraming";
  if (head.framing === "length") return "badLength";
  head.framing = "length";
  head.length = readLength(bytes);
  return head.length < 0 ? "badLength" : undefined;
}

/** Never passed on as it came: the line that goes upstream is our own. */
function takeCoding(head: RequestHead, bytes: Uint8Array): Refusal | undefined {
  if (head.framing === "length") return "badFraming";
  if (head.framing === "chunked" || !isChunked(bytes)) return "badCoding";
  head.framing = "chunked";
  return drop(head);
}

function takeAuthorization(head: RequestHead): Refusal | undefined {
  if (head.keyFrom >= 0) return "twoKeys";
  head.keyFrom = line.valueFrom;
  head.keyTo = line.valueTo;
  return head.rules.stripAuthorization ? drop(head) : undefined;
}

function takeCookie(_head: RequestHead, bytes: Uint8Array): undefined {
  coverLogins(bytes, line.valueFrom, line.valueTo);
}

/** A client of HTTP/1.0 knows no answer before the answer. Source: RFC 9110 section 10.1.1. */
function takeExpect(head: RequestHead): Refusal | undefined {
  head.expects = true;
  return head.minor === 0 ? drop(head) : undefined;
}

/** Only WebSockets are upgraded to; an upgrade to HTTP/2 would open a way past the check. */
function takeUpgrade(head: RequestHead, bytes: Uint8Array): Refusal | undefined {
  head.wantsWebSocket = equalsAnyCase(bytes, line.valueFrom, line.valueTo, webSocket);
  return drop(head);
}
