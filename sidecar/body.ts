import { type Chunks, newChunks, readChunks, resetChunks } from "./chunked.ts";
import type { Framing } from "./request-head.ts";

/** Where a body was left: it is only counted, its bytes are passed on as they are. */
export interface Body extends Chunks {
  framing: Framing;
  isWhole: boolean;
  /** Whether its chunks cannot be read; where it ends is then unknown. */
  isBad: boolean;
}

/** A reader of bodies, one after the other. */
export const newBody = (): Body => ({
  ...newChunks(),
  framing: "none",
  isWhole: true,
  isBad: false,
});

/** Makes the reader ready for a body that is framed so. */
export function startBody(body: Body, framing: Framing, length: number): void {
  resetChunks(body);
  body.framing = framing;
  body.left = length;
  body.isBad = false;
  body.isWhole = framing === "none" || (framing === "length" && length === 0);
}

/** Walks over bytes of the body; answers the offset after those that belong to it. */
export function readBody(body: Body, bytes: Uint8Array, from: number, to: number): number {
  if (body.isWhole) return from;
  if (body.framing === "untilClose") return to;
  if (body.framing === "chunked") {
    const end = readChunks(body, bytes, from, to);
    body.isWhole = body.state === "done";
    body.isBad = body.state === "bad";
    return end;
  }
  const taken = Math.min(body.left, to - from);
  body.left -= taken;
  body.isWhole = body.left === 0;
  return from + taken;
}
