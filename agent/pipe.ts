import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "../common/errors.ts";

/**
 * Connects an agent's socket with two streams until either side ends: the way to an agent where only
 * commands can be run on its node. Throws `UnreachableError` when nothing listens there.
 */
export async function pipe(socket: string, input: Readable, output: Writable): Promise<void> {
  const way = connect({ path: socket, allowHalfOpen: true });
  try {
    await once(way, "connect");
  } catch (error) {
    throw new AppError("UnreachableError", `no agent listens at ${socket}`, {}, error);
  }
  await Promise.all([pipeline(input, way as Duplex), pipeline(way as Duplex, output)]);
}
