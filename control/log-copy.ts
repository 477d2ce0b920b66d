import { randomUUID } from "node:crypto";
import { constants, renameSync, rmSync, writeFileSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { flush, ifMissing, makeFolder, orNothing } from "../common/files.ts";
import { punchHole, readFrom, readOn, sizeOf } from "../common/growing-file.ts";
import { type Gap, gapLine, gapOf as hookLogGap } from "../contract/hooks.ts";

/** Copies of logs that lie on nodes, kept while they grow. */

/** What control knows of its copy of a log. */
export interface CopyState {
  /** Bytes that were left out; what the file has there means nothing. */
  readonly gap: Gap | null;
  /** Nothing more comes. */
  readonly isWhole: boolean;
}

/** A copy that is written to. Its byte offsets are those of the node, for ever. */
export interface OpenCopy extends AsyncDisposable {
  /** The offset of the byte that it lacks next. */
  readonly size: number;
  /** Whether every byte is here. */
  readonly isWhole: boolean;
  /** Puts bytes where they belong; those between its end and them are left out. */
  write(at: number, bytes: Buffer): Promise<void>;
  /** Marks that every byte is here, until more is written; resolves once all of it is on disk. */
  finish(): Promise<void>;
}

const stateFileOf = (file: string): string => file.replace(/log$/, "json");

/** What is known of a copy; nothing at first. */
export async function copyStateOf(file: string): Promise<CopyState> {
  const text = await readFile(stateFileOf(file), "utf8").catch(ifMissing(undefined));
  return text === undefined ? { gap: null, isWhole: false } : JSON.parse(text);
}

/** Writes a small file that appears whole or not at all; resolves once it is on disk. */
export async function saveFlushed(file: string, value: object): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, JSON.stringify(value), { mode: 0o600 });
    await flush(draft);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  await flush(dirname(file));
}

interface CopyOptions {
  /** Called with the error if the disk space of removed bytes could not be released. */
  readonly stays?: (why: unknown) => void;
  /** The range of a log of this size that is not kept. */
  readonly gapOf?: (sizeBytes: number, isOver: boolean) => Gap | undefined;
}

const openFile = (file: string) => open(file, constants.O_RDWR | constants.O_CREAT, 0o600);

/** Opens a copy where it was left, or a new one. Several may write it: they write the same. */
export async function openCopy(
  file: string,
  { stays = () => {}, gapOf = hookLogGap }: CopyOptions = {},
): Promise<OpenCopy> {
  const make = () => makeFolder(dirname(file)).then(() => openFile(file));
  const handle = (await orNothing(openFile(file))) ?? (await make());
  let { size } = await handle.stat();
  let state = await copyStateOf(file);

  /** Readers learn of it before the bytes are gone. */
  async function save({ gap, isWhole }: CopyState): Promise<void> {
    state = { gap: merged(state.gap, gap), isWhole };
    await saveFlushed(stateFileOf(file), state);
    if (gap !== null && state.gap !== null) await punchHole(file, state.gap).catch(stays);
  }

  return {
    get size() {
      return size;
    },
    get isWhole() {
      return state.isWhole;
    },
    async write(at, bytes) {
      if (state.isWhole) await save({ gap: null, isWhole: false });
      if (at > size) await save({ gap: { from: size, to: at }, isWhole: false });
      for (let done = 0; done < bytes.length; )
        done += (await handle.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
      size = Math.max(size, at + bytes.length);
      const gap = gapOf(size, false);
      if (gap !== undefined && gap.to > (state.gap?.to ?? 0)) await save({ gap, isWhole: false });
    },
    async finish() {
      // The node drops its log once it is told that all of it is here.
      if (size > 0) await handle.sync();
      await save({ gap: gapOf(size, true) ?? null, isWhole: true });
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

const merged = (one: Gap | null, other: Gap | null): Gap | null =>
  one === null || other === null
    ? (one ?? other)
    : { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) };

/** Writes what comes from an offset on; answers whether anything came. */
export async function copyAll(
  copy: OpenCopy,
  start: number,
  body: AsyncIterable<Buffer>,
  notify: () => void = () => {},
): Promise<boolean> {
  let at = start;
  for await (const chunk of body) {
    await copy.write(at, chunk);
    at += chunk.length;
    notify();
  }
  return at > start;
}

/**
 * What a copy has from an offset on, with a line where bytes were left out. Before it reads to the
 * present end it asks whether that is the last time.
 */
export async function* readCopy(
  file: string,
  offset: number,
  isLast: (at: number) => Promise<boolean>,
): AsyncGenerator<Buffer> {
  yield* readOn(offset, (at) => readToEnd(file, at), isLast);
}

/** Reads what is there when it begins; returns the offset after that. */
async function* readToEnd(file: string, offset: number): AsyncGenerator<Buffer, number> {
  const end = await sizeOf(file);
  let at = offset;
  for await (const chunk of readFrom(file, at)) {
    const gap = gapWithin((await copyStateOf(file)).gap, at, chunk.length);
    if (gap !== undefined) {
      if (gap.from > at) yield chunk.subarray(0, gap.from - at);
      yield Buffer.from(gapLine(gap));
      return yield* readToEnd(file, gap.to);
    }
    at += chunk.length;
    yield chunk;
    if (at >= end) break;
  }
  return at;
}

/** What of the gap a reader meets who has read so many bytes at an offset. Asked after the reading. */
function gapWithin(gap: Gap | null, at: number, length: number): Gap | undefined {
  if (gap === null || gap.to <= at || gap.from >= at + length) return undefined;
  return { from: Math.max(gap.from, at), to: gap.to };
}
