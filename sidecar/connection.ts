import { byte, bytesOf, equalsAnyCase, isToken } from "./bytes.ts";
import { line, readLine } from "./fields.ts";
import type { Refusal } from "./refusals.ts";

/** What the Connection headers of a head say, and which lines of it are not passed on. */
export interface Hops {
  close: boolean;
  keepAlive: boolean;
  upgrade: boolean;
  /** Pairs of offsets: names in Connection that only this hop may see. */
  readonly named: Int32Array;
  namedCount: number;
  /** Pairs of offsets, ascending: lines that are not passed on. */
  readonly drops: Int32Array;
  dropCount: number;
}

const namesAtMost = 16;
const dropsAtMost = 1024;

/** A record of hops to be used for one head after the other. */
export const newHops = (): Hops => ({
  close: false,
  keepAlive: false,
  upgrade: false,
  named: new Int32Array(2 * namesAtMost),
  namedCount: 0,
  drops: new Int32Array(2 * dropsAtMost),
  dropCount: 0,
});

/** Forgets the head before. */
export function clearHops(hops: Hops): void {
  hops.close = false;
  hops.keepAlive = false;
  hops.upgrade = false;
  hops.namedCount = 0;
  hops.dropCount = 0;
}

/** Keeps the line just read from being passed on. */
export function drop(hops: Hops): Refusal | undefined {
  if (hops.dropCount === dropsAtMost) return "tooManyHeaders";
  hops.drops[2 * hops.dropCount] = line.from;
  hops.drops[2 * hops.dropCount + 1] = line.to;
  hops.dropCount += 1;
  return undefined;
}

/** Options of Connection that are not names of headers. */
const options = {
  close: bytesOf("close"),
  keepAlive: bytesOf("keep-alive"),
  upgrade: bytesOf("upgrade"),
} as const;

/** Who names one of these in Connection wants the next one to read another request than we did. */
const mustArrive = ["host", "content-length", "transfer-encoding", "authorization"].map(bytesOf);

/** Takes a Connection line, which is never passed on itself. Source: RFC 9110 section 7.6.1. */
export function takeConnection(hops: Hops, bytes: Uint8Array): Refusal | undefined {
  for (let at = line.valueFrom; at < line.valueTo; ) {
    const from = at;
    while (at < line.valueTo && isToken[bytes[at] ?? 0] === 1) at++;
    if (at > from && !takeOption(hops, bytes, from, at)) return "badConnection";
    const after = skipBlanks(bytes, at);
    if (after < line.valueTo && bytes[after] !== byte.comma) return "badConnection";
    at = skipBlanks(bytes, after + 1);
  }
  return drop(hops);
}

function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < line.valueTo && (bytes[at] === byte.space || bytes[at] === byte.tab)) at++;
  return at;
}

function takeOption(hops: Hops, bytes: Uint8Array, from: number, to: number): boolean {
  if (equalsAnyCase(bytes, from, to, options.close)) hops.close = true;
  else if (equalsAnyCase(bytes, from, to, options.keepAlive)) hops.keepAlive = true;
  else if (equalsAnyCase(bytes, from, to, options.upgrade)) hops.upgrade = true;
  else {
    if (hops.namedCount === namesAtMost) return false;
    for (const name of mustArrive) if (equalsAnyCase(bytes, from, to, name)) return false;
    hops.named[2 * hops.namedCount] = from;
    hops.named[2 * hops.namedCount + 1] = to;
    hops.namedCount += 1;
  }
  return true;
}

/** Adds the lines that Connection names to those that are not passed on; they lie in `from`..`to`. */
export function dropNamed(hops: Hops, bytes: Uint8Array, from: number, to: number): void {
  if (hops.namedCount === 0) return;
  const dropped = hops.drops.slice(0, 2 * hops.dropCount);
  let next = 0;
  hops.dropCount = 0;
  for (let at = from; readLine(bytes, at, to) === "line"; at = line.to) {
    const isDropped = dropped[next] === at;
    if (isDropped) next += 2;
    if (isDropped || isNamed(hops, bytes)) drop(hops);
  }
}

function isNamed({ named, namedCount }: Hops, bytes: Uint8Array): boolean {
  for (let i = 0; i < namedCount; i++) {
    const name = bytes.subarray(named[2 * i], named[2 * i + 1]);
    if (equalsAnyCase(bytes, line.from, line.nameTo, name.map(toLower))) return true;
  }
  return false;
}

const toLower = (code: number): number => code | 0x20;
