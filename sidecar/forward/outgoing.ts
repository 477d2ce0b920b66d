import type { RequestHead } from "../request-head.ts";
import { giveBuffer, takeBuffer } from "./buffers.ts";
import { copy, roomFor, writeRequestHead } from "./heads.ts";
import { shared } from "./sockets.ts";

/** A request as the upstream gets it: its head, and a body that came with it if that is short. */
export interface Outgoing {
  bytes: Buffer;
  /** How many of the bytes are filled. */
  to: number;
  /** What came of the body since, while there is no connection to the upstream. */
  rest: Buffer | undefined;
}

export const newOutgoing = (): Outgoing => ({ bytes: shared, to: 0, rest: undefined });

/** How much of a body leaves with its head. */
const togetherAtMost = 4_096;

/**
 * Fills in a head, and the body up to `bodyTo` if that is short. Answers how many of the body's
 * bytes are in.
 */
export function fill(
  outgoing: Outgoing,
  head: RequestHead,
  bytes: Buffer,
  bodyTo: number,
  forwarded: Buffer,
): number {
  const together = bodyTo - head.to <= togetherAtMost ? bodyTo - head.to : 0;
  outgoing.bytes = takeBuffer(roomFor(head, forwarded) + together);
  const headTo = writeRequestHead(head, bytes, forwarded, outgoing.bytes);
  outgoing.to = copy(bytes, head.to, head.to + together, outgoing.bytes, headTo);
  return together;
}

/** Keeps bytes of the body until the request can be sent. */
export function keep(outgoing: Outgoing, bytes: Buffer): void {
  outgoing.rest = Buffer.concat(outgoing.rest === undefined ? [bytes] : [outgoing.rest, bytes]);
}

/** Lets go of the bytes, which are not needed again: others may use them. */
export function release(outgoing: Outgoing): void {
  giveBuffer(outgoing.bytes);
  outgoing.bytes = shared;
  outgoing.rest = undefined;
}

/** A body up to this size is read after a refusal, so that the connection can go on. */
const discardAtMost = 65_536;

/**
 * Whether the connection can go on after a refusal. Who waits for 100 Continue may send the body or
 * not: only the end of the connection is sure.
 */
export const canDiscard = (head: RequestHead): boolean =>
  head.framing !== "chunked" && head.length <= discardAtMost && !head.expects;
