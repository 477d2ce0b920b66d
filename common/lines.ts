import { constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { isatty } from "node:tty";
import { promisify } from "node:util";
import { ifPossible } from "./errors.ts";
import { readableLine } from "./readable-line.ts";

/** What lines are written to. */
export interface Place {
  /** The descriptor that the next bytes go to; never called while a write is under way. */
  next(): number;
  /** Whether a write may wait for a disk. All others fail instead of waiting. */
  readonly isFile: boolean;
  /** Whether people read it, so that lines are not written as JSON. */
  readonly isTerminal?: boolean;
}

const { O_APPEND, O_CREAT, O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;

/**
 * Our stderr, as a place where no write waits for a reader. `O_NONBLOCK` belongs to the open file
 * description, which we share with our parent, its terminal and a wrapped command. So a pipe or a terminal
 * is opened once more, for a description of our own. A file needs no flag, and another description would
 * lose its offset. A socket, such as that of systemd's journal, or a pipe of another user cannot be
 * opened again: it gets the flag where it is, which Node.js does by itself when `process.stderr` is used, and
 * takes back when it exits.
 */
export function stderr(): Place {
  const isFile = fstatSync(2).isFile();
  const own = isFile ? undefined : reopenStderr();
  const isTerminal = isatty(2);
  if (own !== undefined && !isTerminal) replaceStderr(own);
  const fd = own ?? (isFile ? 2 : process.stderr.fd);
  return { next: () => fd, isFile, isTerminal };
}

/**
 * Node.js opens `process.stderr`, and so makes the pipe non-blocking, whenever it destroys a socket. This one writes to a
 * description of our own, and drops what does not fit. A terminal needs none, as Node.js opens that once more by itself.
 */
function replaceStderr(fd: number): void {
  const stream = new Writable({
    write(chunk, _encoding, done) {
      ifPossible(() => writeSync(fd, chunk));
      done();
    },
  });
  const value = Object.assign(stream, { fd });
  Object.defineProperty(process, "stderr", { configurable: true, enumerable: true, value });
}

const reopenStderr = (): number | undefined =>
  ifPossible(() => openSync("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY));

/** A file, or a pipe with a name, that lines are appended to. Throws when it cannot be opened. */
export function openPlace(file: string): Place {
  const fd = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK);
  return { next: () => fd, isFile: fstatSync(fd).isFile() };
}

/** What may wait for a reader or a disk; lines beyond are dropped. */
const waitingBytesAtMost = 1_048_576;
/** The most that a pipe takes whole or not at all, so that lines of several processes do not mix. */
const pipeBytes = 4_096;
const fileBytes = 65_536;
const soonBytes = 8_192;
const soonMs = 1_000;
const againMs = 20;
const closeAtMostMs = 1_000;

const writeToDisk = promisify(write);

/** Those whose last lines are written when the process exits. */
const opened = new Set<Lines>();

/**
 * Writes lines, and never waits: neither for a reader that does not read nor for a disk that is full or gone.
 * What cannot be written is retained up to 1 MiB and tried again; lines beyond that are dropped and
 * counted, and a line of their own says how many once something fits again. When the process exits,
 * what fits without waiting is still written.
 */
export class Lines {
  /** How many lines were dropped in all. */
  dropped = 0;
  readonly #program: string;
  readonly #place: Place;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** What is being written, or is to be tried again. */
  #current: Buffer | undefined;
  #writing: Promise<void> | undefined;
  #unreported = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `program` names who dropped lines. */
  constructor(program: string, place: Place) {
    this.#program = program;
    this.#place = place;
    if (opened.size === 0) process.once("exit", flushAll);
    opened.add(this);
  }

  /** Writes a line at once, or as soon as it fits. */
  write(line: string): void {
    this.#add(line);
    if (this.#current === undefined) this.#pump();
  }

  /** Writes a line together with others, within a second. */
  writeSoon(line: string): void {
    this.#add(line);
    if (this.#current !== undefined) return;
    if (this.#waitingBytes >= soonBytes) this.#pump();
    else this.#pumpAfter(soonMs);
  }

  /** Has the place be looked at although there may be nothing to write. */
  look(): void {
    if (this.#writing === undefined) this.#place.next();
  }

  /** Writes what fits now; waits up to a second for a disk. */
  async close(): Promise<void> {
    this.#pump();
    await Promise.race([this.#writing, sleep(closeAtMostMs, undefined, { ref: false })]);
    opened.delete(this);
  }

  /** Writes what fits without waiting for a reader. */
  flush(): void {
    // What is on its way to a disk gets there without us.
    if (this.#writing !== undefined) this.#current = undefined;
    try {
      for (let bytes = this.#next(); bytes !== undefined; bytes = this.#next())
        this.#wrote(bytes, writeSync(this.#place.next(), bytes));
    } catch {
      this.#pumpAfter(againMs);
    }
  }

  #add(line: string): void {
    const bytes = this.#bytesOf(line);
    if (this.#waitingBytes + bytes.length <= waitingBytesAtMost) this.#enqueue(bytes);
    else {
      this.dropped += 1;
      this.#unreported += 1;
    }
  }

  #bytesOf(line: string): Buffer {
    return Buffer.from(this.#place.isTerminal ? readableLine(line) : line);
  }

  #enqueue(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #pumpAfter(ms: number): void {
    this.#timer ??= setTimeout(() => this.#pump(), ms).unref();
  }

  #pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#place.isFile) this.flush();
    else this.#writing ??= this.#writeAll().finally(() => this.#wroteAll());
  }

  async #writeAll(): Promise<void> {
    try {
      for (let bytes = this.#next(); bytes !== undefined; bytes = this.#next()) {
        const { bytesWritten } = await writeToDisk(this.#place.next(), bytes);
        this.#wrote(bytes, bytesWritten);
      }
    } catch {
      this.#pumpAfter(againMs);
    }
  }

  #wroteAll(): void {
    this.#writing = undefined;
    if (this.#current === undefined && this.#waitingBytes > 0) this.#pump();
  }

  /** The bytes to be tried next: whole lines, up to what is written in one piece. */
  #next(): Buffer | undefined {
    if (this.#current !== undefined || this.#waiting.length === 0) return this.#current;
    const atMost = this.#place.isFile ? fileBytes : pipeBytes;
    let count = 0;
    let bytes = 0;
    do bytes += this.#waiting[count++]?.length ?? 0;
    while (count < this.#waiting.length && bytes + (this.#waiting[count]?.length ?? 0) <= atMost);
    this.#current = Buffer.concat(this.#waiting.splice(0, count));
    return this.#current;
  }

  #wrote(bytes: Buffer, written: number): void {
    this.#waitingBytes -= written;
    this.#current = written < bytes.length ? bytes.subarray(written) : undefined;
    if (this.#unreported === 0) return;
    const time = new Date().toISOString();
    const report = { level: 40, time, program: this.#program, dropped: this.#unreported };
    this.#unreported = 0;
    this.#enqueue(this.#bytesOf(`${JSON.stringify({ ...report, msg: "log lines dropped" })}\n`));
  }
}

function flushAll(): void {
  for (const lines of opened) lines.flush();
}
