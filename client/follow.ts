import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errorTypes } from "../common/errors.ts";
import { openDecoder, type Piece } from "./stream.ts";

/** Where the pieces of a stream go. */
export interface Sink {
  write(bytes: Buffer): void | Promise<void>;
  control(code: string, message: string): void | Promise<void>;
  /** Told once of an interruption that lasts: nothing comes until it has passed. */
  away?(): void;
}

/** An open text stream; `firstByte` is where its text starts within the whole. */
export interface OpenStream {
  readonly firstByte: number;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** The waits before each new try in a row without new text. */
  readonly delaysMs?: readonly number[];
}

export const reconnectDelaysMs = [1_000, 3_000, 5_000] as const;

/** So many tries in a row without new text are more than a control plane that starts anew. */
const lasting = 2;

/** How far a reader came, in bytes of text. */
interface Position {
  next: number;
  endedLine: boolean;
  failures: number;
}

/**
 * Follows a stream to its end. When the connection breaks it opens the stream again, asking for
 * the byte it needs next, and leaves out what it was sent twice. Throws what `open` throws at first,
 * and the interruption itself after three tries in a row that brought nothing new.
 */
export async function follow(
  open: (from: number | undefined) => Promise<OpenStream>,
  sink: Sink,
  { signal, delaysMs = reconnectDelaysMs }: FollowOptions,
): Promise<void> {
  let position: Position | undefined;
  for (;;) {
    try {
      const stream = await open(position?.next);
      position ??= { next: stream.firstByte, endedLine: true, failures: 0 };
      await readPieces(stream, sink, position);
      return;
    } catch (error) {
      const delayMs = position && delaysMs[position.failures];
      if (position === undefined || delayMs === undefined || !mayPass(error, signal)) throw error;
      position.failures += 1;
      if (position.failures === lasting) sink.away?.();
      await sleep(delayMs, undefined, { signal });
    }
  }
}

async function readPieces(stream: OpenStream, sink: Sink, position: Position): Promise<void> {
  let repeated = Math.max(0, position.next - stream.firstByte);
  const decoder = openDecoder(repeated > 0 || position.endedLine);
  const take = async (piece: Piece) => {
    if (piece.kind === "control") {
      if (piece.code === "retry") throw new AppError("UnreachableError", "asked to connect again");
      // Instants tell of what follows them, be it shown again or not.
      if (repeated === 0 || piece.code === "instant") await sink.control(piece.code, piece.message);
      return;
    }
    const fresh = piece.bytes.subarray(repeated);
    repeated -= piece.bytes.length - fresh.length;
    if (fresh.length === 0) return;
    await sink.write(fresh);
    position.next += fresh.length;
    position.endedLine = fresh.at(-1) === 10;
    position.failures = 0;
  };
  for await (const chunk of stream.body) for (const piece of decoder.push(chunk)) await take(piece);
  for (const piece of decoder.end()) await take(piece);
}

/**
 * Works again after an interruption that may pass. Gives up after several failures in a row; calling `heard` resets
 * the count.
 */
export async function patiently<T>(
  work: (heard: () => void) => Promise<T>,
  { signal, delaysMs = reconnectDelaysMs }: FollowOptions,
  passes: (error: unknown, signal: AbortSignal) => boolean = mayPass,
): Promise<T> {
  let failures = 0;
  const heard = () => {
    failures = 0;
  };
  for (;;)
    try {
      return await work(heard);
    } catch (error) {
      const delayMs = delaysMs[failures];
      if (delayMs === undefined || !passes(error, signal)) throw error;
      failures += 1;
      await sleep(delayMs, undefined, { signal });
    }
}

/** Whether an interruption may pass: our errors say so themselves, a broken connection does. */
export function mayPass(error: unknown, signal: AbortSignal): error is AppError {
  if (signal.aborted) return false;
  return error instanceof AppError && errorTypes[error.type].retry;
}
