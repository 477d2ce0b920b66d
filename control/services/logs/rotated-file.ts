import type { FileHandle } from "node:fs/promises";
import {
  findLastLines,
  noMore,
  openOrNothing,
  readOn,
  readOpen,
  statOrNothing,
  type UntilMore,
} from "../../../common/growing-file.ts";
import { earlierLogOf } from "../../../contract/balancer-api.ts";

type File = FileHandle | undefined;

/**
 * The last lines, 0 for all that is kept, of a log that is begun anew when it is full (`earlierLogOf`). It
 * is read on, from one file to the next, until there is no more.
 */
export async function* readRotated(
  file: string,
  lines: number,
  more: UntilMore = noMore,
): AsyncGenerator<Buffer> {
  let now = await openOrNothing(file);
  const isRotated = async () => (await statOrNothing(file))?.ino !== (await inodeOf(now));
  async function* readThrough(offset: number): AsyncGenerator<Buffer, number> {
    for (let at = offset; ; at = 0) {
      // Looked at before it is read: nothing is added to one that was turned.
      const wasRotated = await isRotated();
      at = yield* readOpen(now, at);
      if (!wasRotated) return at;
      await now?.close();
      now = await openOrNothing(file);
    }
  }
  try {
    const last = await lastLines(now, lines);
    if (lines === 0 || last.missing > 0) yield* readEarlier(file, now, last.missing);
    yield* readOn(last.from, readThrough, (at) =>
      more(async () => (await isRotated()) || (await sizeOf(now)) > at),
    );
  } finally {
    await now?.close();
  }
}

/** What the lines begin with that the present file does not have. */
async function* readEarlier(file: string, now: File, missing: number): AsyncGenerator<Buffer> {
  await using earlier = await openOrNothing(earlierLogOf(file));
  // Turned since the present one was opened, it is that one.
  if ((await inodeOf(earlier)) === (await inodeOf(now))) return;
  yield* readOpen(earlier, (await lastLines(earlier, missing)).from);
}

const lastLines = async (file: File, lines: number) =>
  file === undefined || lines === 0
    ? { from: 0, missing: lines }
    : findLastLines(file, await sizeOf(file), lines);

const inodeOf = async (file: File) => (await file?.stat())?.ino;
const sizeOf = async (file: File) => (await file?.stat())?.size ?? 0;
