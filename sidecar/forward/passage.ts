import { performance } from "node:perf_hooks";
import { byte } from "../bytes.ts";
import type { Refusal } from "../refusals.ts";
import type { Method, RequestHead } from "../request-head.ts";

/** How a request ended: answered, given up by its client, broken off after its head, or refused. */
export type Outcome = "answered" | "gone" | "cut" | Refusal;

/** One request on its way through the sidecar, and what observers are told once it has ended. */
export interface Passage {
  method: Method;
  minor: number;
  wantsWebSocket: boolean;
  /** Whether the request may be sent again when the first try was in vain. */
  isRepeatable: boolean;
  /** The target without its query; empty unless the observer wants it. */
  path: string;
  /** Who asked, or empty. */
  keyId: string;
  /** The name of the route that it took last, or empty. */
  way: string;
  /** What was answered; 0 until the answer's first bytes have left. */
  status: number;
  outcome: Outcome;
  startedAtMs: number;
  /** Bytes of the request's body, and of the whole answer. */
  bytesIn: number;
  bytesOut: number;
  readonly address: string;
}

/** The record of a connection's requests, one after the other. */
export const newPassage = (address: string): Passage => ({
  method: "OTHER",
  minor: 1,
  wantsWebSocket: false,
  isRepeatable: false,
  path: "",
  keyId: "",
  way: "",
  status: 0,
  outcome: "answered",
  startedAtMs: 0,
  bytesIn: 0,
  bytesOut: 0,
  address,
});

const safeMethods: ReadonlySet<Method> = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

/** Starts the record of another request. */
export function beginPassage(passage: Passage, head: RequestHead): void {
  passage.startedAtMs = performance.now();
  passage.method = head.method;
  passage.minor = head.minor;
  passage.wantsWebSocket = head.wantsWebSocket;
  passage.isRepeatable = head.framing === "none" && safeMethods.has(head.method);
  passage.path = "";
  passage.keyId = "";
  passage.way = "";
  passage.status = 0;
  passage.bytesIn = 0;
  passage.bytesOut = 0;
}

/** The target without its query, which may hold what no log should. */
export function pathOf(head: RequestHead, bytes: Buffer): string {
  const query = bytes.subarray(head.pathFrom, head.targetTo).indexOf(byte.question);
  return bytes.toString("latin1", head.pathFrom, query < 0 ? head.targetTo : head.pathFrom + query);
}
