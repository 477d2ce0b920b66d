import type { Growth } from "../../common/log-growth.ts";
import { controlLine } from "./control-lines.ts";
import { neutraliser } from "./neutralise.ts";

/** Records of how a log grew behind an offset, oldest first; empty where nothing is known. */
export type ReadGrowth = (after: number) => Promise<readonly Growth[]>;

/** A piece of a log, and where it is in its file. */
export interface LogPiece {
  readonly bytes: Buffer;
  readonly at: number;
  /** Says when its file grew; absent if nothing does. */
  readonly growth?: ReadGrowth;
}

/** Chunks of a file, in their order, as pieces. */
export async function* piecesOf(
  start: number,
  chunks: AsyncIterable<Buffer>,
  growth?: ReadGrowth,
): AsyncGenerator<LogPiece> {
  let at = start;
  for await (const bytes of chunks) {
    yield { bytes, at, ...(growth && { growth }) };
    at += bytes.length;
  }
}

/** The text of pieces. */
export async function* textOf(pieces: AsyncIterable<LogPiece>): AsyncGenerator<Buffer> {
  for await (const { bytes } of pieces) yield bytes;
}

const newline = 10;

/**
 * The text of pieces without control tags of the workload, and with control lines that say when the lines after them
 * began. A control line stands between lines, so it comes once the line under way has ended. With `isEarly`, the first
 * byte is there to tell whether a line begins after it, and is left out.
 */
export async function* withInstants(
  pieces: AsyncIterable<LogPiece>,
  isEarly = false,
): AsyncGenerator<Buffer> {
  const filter = neutraliser();
  let isLineStart = true;
  let isFirst = isEarly;
  let said: string | undefined;

  function* show(bytes: Buffer, at: number | undefined): Generator<Buffer> {
    const instant = at === undefined ? "" : new Date(at).toISOString();
    const lineEnd = isLineStart ? 0 : bytes.indexOf(newline) + 1;
    const isWithinLine = !isLineStart && lineEnd === 0;
    if (instant === said || isWithinLine || lineEnd === bytes.length) yield filter.push(bytes);
    else {
      yield filter.push(bytes.subarray(0, lineEnd));
      yield Buffer.from(controlLine("instant", instant));
      yield filter.push(bytes.subarray(lineEnd));
      said = instant;
    }
    isLineStart = bytes.at(-1) === newline;
  }

  const timed = timer();
  for await (const piece of pieces)
    for (const { bytes, at } of await timed(piece)) {
      if (isFirst) isLineStart = bytes[0] === newline;
      const shown = isFirst ? bytes.subarray(1) : bytes;
      isFirst = false;
      if (shown.length > 0) yield* show(shown, at);
    }
  yield filter.end();
}

interface Timed {
  readonly bytes: Buffer;
  readonly at: number | undefined;
}

/** Divides pieces where their file was recorded; asks for records only behind those that it has. */
function timer(): (piece: LogPiece) => Promise<Timed[]> {
  let source: ReadGrowth | undefined;
  let known: Growth[] = [];
  return async ({ bytes, at: start, growth }) => {
    if (growth !== source) known = [];
    source = growth;
    const end = start + bytes.length;
    while (growth !== undefined && (known.at(-1)?.size ?? 0) < end) {
      const more = await growth(Math.max(start, known.at(-1)?.size ?? 0));
      if (more.length === 0) break;
      known.push(...more);
    }
    known = known.filter(({ size }) => size > start);
    const parts: Timed[] = [];
    let from = start;
    for (const { size, at } of known.values()) {
      if (from === end) break;
      const to = Math.min(size, end);
      parts.push({ bytes: bytes.subarray(from - start, to - start), at });
      from = to;
    }
    if (from < end) parts.push({ bytes: bytes.subarray(from - start), at: undefined });
    return parts;
  };
}
