import type { NetConnectOpts } from "node:net";
import type { Duplex } from "node:stream";
import type { Refusal } from "../refusals.ts";
import type { Outcome, Passage } from "./passage.ts";

/**
 * Where an upstream is reached: `host` and `port`, the `path` of a Unix socket, or streams that
 * somebody else connects. Connections are kept for each such object: use the same one again.
 */
export type Address = NetConnectOpts | { connect(): Promise<Duplex> };

/** The way of one request. */
export interface Route {
  readonly to: Address;
  /** What logs call it. */
  readonly name?: string;
  /** Whether nothing is there any more: `Serving.leaveLost` ends what is still on this way. */
  readonly isLost?: boolean;
  /** The request is no longer on this way; called exactly once for each route that was chosen. */
  done(outcome: Outcome): void;
}

/** A way on which no answer began, of a request that may go another way. */
export interface DeadEnd {
  readonly to: Address;
  readonly why: Refusal;
  /** Whether there was a connection: then the request was sent, and is safe to be sent again. */
  readonly wasConnected: boolean;
}

/** Whoever waited for a choice does so no more. */
export type Forget = () => void;

/**
 * Chooses the way of a request, or refuses it, at once or later by `tell`: then it answers how to take
 * the question back. It is asked again, with all dead ends so far, when an upstream could not be
 * connected to, or broke off before it answered a request that is safe to repeat. The request itself
 * must not be kept.
 */
export type Choose = (
  request: Passage,
  deadEnds: readonly DeadEnd[],
  tell: (choice: Route | Refusal) => void,
) => Route | Refusal | Forget;

/** The choice where there is but one upstream. */
export function always(to: Address): Choose {
  const route = { to, done() {} };
  return (_, deadEnds) => deadEnds[0]?.why ?? route;
}
