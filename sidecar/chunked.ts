import { type ByteClass, byte, hexValue, isToken, isValue } from "./bytes.ts";
import { forwardedPrefix, forwardingNames } from "./forwarding-names.ts";

/**
 * Where a chunked body was left. `size` to `sizeLf` are inside the line of a chunk's size, where an
 * extension is `;name`, `;name=value` or `;name="value"`; `data` to `dataLf` are inside its bytes,
 * `line` to `lastLf` after the chunk of size 0.
 */
type State =
  | "size"
  | "sizeDigits"
  | "extension"
  | "extensionName"
  | "extensionEquals"
  | "extensionValue"
  | "extensionQuoted"
  | "extensionEnd"
  | "sizeLf"
  | "data"
  | "dataCr"
  | "dataLf"
  | "line"
  | "name"
  | "value"
  | "lineLf"
  | "lastLf"
  | "done"
  | "bad";

/** Follows one chunked body from read to read. */
export interface Chunks {
  state: State;
  /** Of the chunk: its size while that is read, then what is left of it; or of a body with a length. */
  left: number;
  /** Bytes of extensions, or of trailers, that came so far. */
  extra: number;
  /** Of the trailer that is read: its name, in lower case. */
  name: string;
}

const extraAtMost = 16_384;
const digitsAtMost = 13;

/** A reader of one body. */
export const newChunks = (): Chunks => ({ state: "size", left: 0, extra: 0, name: "" });

/** Makes the reader ready for another body. */
export function resetChunks(chunks: Chunks): void {
  chunks.state = "size";
  chunks.left = 0;
  chunks.extra = 0;
}

/**
 * Walks over bytes of a chunked body and returns the offset after those that belong to it: `to`
 * until it is `done`, or the first byte that cannot be when it is `bad`. Source: RFC 9112 7.1.
 */
export function readChunks(chunks: Chunks, bytes: Uint8Array, from: number, to: number): number {
  let at = chunks.state === "size" ? skipWhole(bytes, from, to) : from;
  while (at < to) {
    if (chunks.state === "data") {
      const taken = Math.min(chunks.left, to - at);
      at += taken;
      chunks.left -= taken;
      if (chunks.left === 0) chunks.state = "dataCr";
      continue;
    }
    chunks.state = steps[chunks.state](chunks, bytes[at] ?? 0);
    if (chunks.state === "bad") return at;
    at += 1;
    if (chunks.state === "done") return at;
  }
  return at;
}

/** Passes over chunks that are all there and without extensions, as those of streams mostly are. */
function skipWhole(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; ; ) {
    const digitsTo = skipDigits(bytes, at, Math.min(to, at + digitsAtMost));
    const size = sizeIn(bytes, at, digitsTo);
    const dataTo = digitsTo + 2 + size;
    const isWhole = size > 0 && dataTo + 2 <= to && isLineEnd(bytes, digitsTo);
    if (!isWhole || !isLineEnd(bytes, dataTo)) return at;
    at = dataTo + 2;
  }
}

function skipDigits(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && hexValue[bytes[at] ?? 0] !== 255) at++;
  return at;
}

function sizeIn(bytes: Uint8Array, from: number, to: number): number {
  let size = 0;
  for (let at = from; at < to; at++) size = size * 16 + (hexValue[bytes[at] ?? 0] ?? 0);
  return size;
}

const isLineEnd = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === byte.cr && bytes[at + 1] === byte.lf;

type Step = (chunks: Chunks, code: number) => State;

/** What each byte leads to. */
const steps: Record<Exclude<State, "data">, Step> = {
  size: (chunks, code) => {
    chunks.left = hexValue[code] ?? 255;
    chunks.extra = 1;
    return chunks.left === 255 ? "bad" : "sizeDigits";
  },
  sizeDigits: (chunks, code) => {
    const value = hexValue[code] ?? 255;
    if (code === byte.cr) return "sizeLf";
    if (code === byte.semicolon) return "extension";
    if (value === 255 || ++chunks.extra > digitsAtMost) return "bad";
    chunks.left = chunks.left * 16 + value;
    return "sizeDigits";
  },
  extension: (chunks, code) => within(chunks, isToken, code, "extensionName"),
  extensionName: (chunks, code) => {
    if (code === byte.equals) return "extensionEquals";
    return afterExtension(code) ?? within(chunks, isToken, code, "extensionName");
  },
  extensionEquals: (chunks, code) => {
    if (code === byte.quote) return "extensionQuoted";
    return within(chunks, isToken, code, "extensionValue");
  },
  extensionValue: (chunks, code) =>
    afterExtension(code) ?? within(chunks, isToken, code, "extensionValue"),
  extensionQuoted: (chunks, code) => {
    if (code === byte.quote) return "extensionEnd";
    return code === byte.backslash ? "bad" : within(chunks, isValue, code, "extensionQuoted");
  },
  extensionEnd: (_, code) => afterExtension(code) ?? "bad",
  sizeLf: (chunks, code) => {
    if (code !== byte.lf) return "bad";
    chunks.extra = 0;
    return chunks.left === 0 ? "line" : "data";
  },
  dataCr: (_, code) => (code === byte.cr ? "dataLf" : "bad"),
  dataLf: (_, code) => (code === byte.lf ? "size" : "bad"),
  line: (chunks, code) => {
    if (code === byte.cr) return "lastLf";
    chunks.name = "";
    return readName(chunks, code);
  },
  name: (chunks, code) => {
    if (code !== byte.colon) return readName(chunks, code);
    return belongsInHead(chunks.name) ? "bad" : "value";
  },
  value: (chunks, code) => {
    if (code === byte.cr) return "lineLf";
    return within(chunks, isValue, code, "value");
  },
  lineLf: (_, code) => (code === byte.lf ? "line" : "bad"),
  lastLf: (_, code) => (code === byte.lf ? "done" : "bad"),
  done: () => "bad",
  bad: () => "bad",
};

/** The state while bytes are of the class, and not too many. */
const within = (chunks: Chunks, allowed: ByteClass, code: number, state: State): State =>
  allowed[code] === 1 && ++chunks.extra <= extraAtMost ? state : "bad";

function readName(chunks: Chunks, code: number): State {
  chunks.name += String.fromCharCode(code).toLowerCase();
  return within(chunks, isToken, code, "name");
}

/**
 * No trailers, as who adds those to the headers would read another message: what frames, routes or
 * authorizes it. Source: RFC 9110 section 6.5.1.
 */
export function belongsInHead(name: string): boolean {
  const read = name.toLowerCase().replaceAll(/[^a-z0-9]/g, "-");
  return inHeadsAlone.has(read) || read.startsWith(forwardedPrefix);
}

const inHeadsAlone: ReadonlySet<string> = new Set([
  "authorization",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  ...forwardingNames,
]);

function afterExtension(code: number): State | undefined {
  if (code === byte.cr) return "sizeLf";
  return code === byte.semicolon ? "extension" : undefined;
}
