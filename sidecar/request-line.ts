import {
  byte,
  bytesOf,
  equals,
  equalsAnyCase,
  isAuthorityOnly,
  isTarget,
  isToken,
} from "./bytes.ts";
import type { Refusal } from "./refusals.ts";
import type { Method, RequestHead } from "./request-head.ts";

const knownMethods = (
  ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"] as const
).map((name) => ({ name, bytes: bytesOf(name) }));

/** What stops the reading of a head: a reason to refuse it, or that there is less than a line. */
export type Found = Refusal | "incomplete" | undefined;

/** Reads `METHOD target HTTP/1.x`, and what the target says of the host. */
export function readRequestLine(
  head: RequestHead,
  bytes: Uint8Array,
  start: number,
  to: number,
): Found {
  // An empty line before a request is left over from the body before it. Source: RFC 9112 2.2.
  const from = bytes[start] === byte.cr && start + 1 < to ? start + 2 : start;
  if (from !== start && bytes[start + 1] !== byte.lf) return "badLineEnd";
  let at = from;
  while (at < to && isToken[bytes[at] ?? 0] === 1) at++;
  if (at === to) return "incomplete";
  if (bytes[at] === byte.cr && at === from && at + 1 === to) return "incomplete";
  if (at === from || bytes[at] !== byte.space) return "badRequestLine";
  head.from = from;
  head.methodTo = at++;
  head.targetFrom = at;
  while (at < to && isTarget[bytes[at] ?? 0] === 1) at++;
  if (at === to) return "incomplete";
  if (bytes[at] !== byte.space) return at === head.targetFrom ? "badTarget" : "badRequestLine";
  head.targetTo = at++;
  head.method = methodOf(bytes, from, head.methodTo);
  return readVersion(head, bytes, at, to) ?? readTarget(head, bytes);
}

function methodOf(bytes: Uint8Array, from: number, to: number): Method {
  for (const known of knownMethods) if (equals(bytes, from, to, known.bytes)) return known.name;
  return "OTHER";
}

const version = bytesOf("HTTP/1.");

function readVersion(head: RequestHead, bytes: Uint8Array, from: number, to: number): Found {
  for (let i = 0; i < version.length; i++) {
    if (from + i === to) return "incomplete";
    if (bytes[from + i] !== version[i]) return "badRequestLine";
  }
  const at = from + version.length;
  if (at + 3 > to) return "incomplete";
  head.minor = (bytes[at] ?? 0) - byte.zero;
  if (head.minor !== 0 && head.minor !== 1) return "badRequestLine";
  if (bytes[at + 1] !== byte.cr || bytes[at + 2] !== byte.lf) return "badLineEnd";
  head.fieldsFrom = at + 3;
  return undefined;
}

function readTarget(head: RequestHead, bytes: Uint8Array): Found {
  if (head.method === "CONNECT") return "connect";
  head.pathFrom = head.targetFrom;
  const first = bytes[head.targetFrom];
  if (first === byte.slash) return undefined;
  if (first !== byte.star) return readUrl(head, bytes);
  const isAlone = head.targetTo - head.targetFrom === 1;
  return isAlone && head.method === "OPTIONS" ? undefined : "badTarget";
}

const schemes = [bytesOf("http://"), bytesOf("https://")];

/** A whole URL goes upstream as its path, and its authority as Host. Source: RFC 9112 3.2.2. */
function readUrl(head: RequestHead, bytes: Uint8Array): Found {
  for (const scheme of schemes) {
    const from = head.targetFrom + scheme.length;
    if (from >= head.targetTo || !startsWith(bytes, head.targetFrom, scheme)) continue;
    const to = bytes.indexOf(byte.slash, from);
    // Without a path there is more than one way to write what is meant.
    if (to < 0 || to >= head.targetTo || !isAuthorityOnly(bytes, from, to)) return "badTarget";
    head.isAbsolute = true;
    head.hostFrom = from;
    head.hostTo = to;
    head.pathFrom = to;
    return undefined;
  }
  return "badTarget";
}

/** Compares letters in any case and the `://` exactly, as no other byte becomes one of its own. */
function startsWith(bytes: Uint8Array, from: number, wanted: Uint8Array): boolean {
  return equalsAnyCase(bytes, from, from + wanted.length, wanted);
}
