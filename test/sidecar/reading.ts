import { newBody, readBody, startBody } from "../../sidecar/body.ts";
import { newRequestHead, parseRequestHead } from "../../sidecar/head.ts";
import type { RequestHead } from "../../sidecar/request-head.ts";
import { unchunk } from "./raw.ts";

/** A request as a server reads it. */
export interface Read {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: string;
}

/** What is expected of a stream: an answer a method, in their order, and what is passed on. */
export interface Reading {
  readonly methods: string[];
  readonly passed: Read[];
}

const rules = {
  headBytes: 16_384,
  headCount: 100,
  stripAuthorization: false,
  trustForwarded: false,
};

/** Reads a stream with the sidecar's own parser, one request after the other, as one key allows. */
export function readStream(text: string, goodKey: string): Reading {
  const bytes = Buffer.from(text, "latin1");
  const slice = (from: number, to: number) => text.slice(from, to);
  const reading: Reading = { methods: [], passed: [] };
  for (let at = 0, isOpen = true; isOpen && at < bytes.length; ) {
    const head = newRequestHead(rules);
    const found = parseRequestHead(head, bytes, at, bytes.length);
    if (found === "incomplete") break;
    const body = newBody();
    startBody(body, head.framing, head.length);
    at = found === "refused" ? bytes.length : readBody(body, bytes, head.to, bytes.length);
    const hasKey = slice(head.keyFrom, head.keyTo) === `Bearer ${goodKey}`;
    const isPassed = found === "complete" && head.keyFrom >= 0 && hasKey && !body.isBad;
    if (isPassed && !body.isWhole) break;
    reading.methods.push(head.method);
    if (isPassed) reading.passed.push(toRead(head, slice, slice(head.to, at)));
    const canFollow = isPassed || (head.framing !== "chunked" && body.isWhole);
    isOpen = found === "complete" && canFollow && head.minor === 1 && !head.close;
  }
  return reading;
}

function toRead(
  head: RequestHead,
  slice: (from: number, to: number) => string,
  body: string,
): Read {
  const host = head.isAbsolute ? [`host: ${slice(head.hostFrom, head.hostTo)}`] : [];
  const lines = headersOf(slice(head.fieldsFrom, head.fieldsTo));
  return {
    method: slice(head.from, head.methodTo),
    target: slice(head.pathFrom, head.targetTo),
    headers: [...host, ...lines.filter((line) => !head.isAbsolute || !line.startsWith("host:"))],
    body: head.framing === "chunked" ? unchunk(body).text : body,
  };
}

const hops = /^(connection|keep-alive|te|upgrade|transfer-encoding|x-forwarded-\w+)$/;

/** The end-to-end headers of a head, the way they are compared: no length is a length of 0. */
export function headersOf(lines: string): string[] {
  const pairs = [...lines.matchAll(/^([^:]+):[ \t]*(.*?)[ \t]*\r\n/gm)].map(
    ([, name = "", value = ""]) => [name.toLowerCase(), value] as const,
  );
  const named = pairs.flatMap(([name, value]) => (name === "connection" ? value.split(",") : []));
  const dropped = new Set(named.map((name) => name.trim().toLowerCase()));
  return pairs
    .filter(([name]) => !hops.test(name) && !dropped.has(name))
    .map(([name, value]) => `${name}: ${value}`)
    .filter((line) => line !== "content-length: 0");
}
