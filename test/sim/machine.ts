import * as fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Batch } from "../../control/db/batch.ts";
import type { Random } from "./random.ts";

const require = createRequire(import.meta.url);

/** Random bytes and numbers come from here. */
export function installRandom(random: Random): void {
  const bytes = (size: number) =>
    Buffer.from(Array.from({ length: size }, () => random.between(0, 255)));
  Math.random = random.next;
  Object.assign(require("node:crypto"), {
    randomBytes: bytes,
    randomUUID: () =>
      bytes(16)
        .toString("hex")
        .replace(/^(.{8})(.{4}).(.{3}).(.{3})/, "$1-$2-4$3-8$4-"),
  });
  syncBuiltinESMExports();
}

let isFull = () => false;

/** From now on nothing can be written to a file while the disk is full. */
export function watchDisk(full: () => boolean): void {
  isFull = full;
}

/** Has writing fail on a full disk. */
function withDisk<T extends (...given: never[]) => unknown>(write: T): T {
  return ((...given: Parameters<T>) => {
    if (isFull()) throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
    return write(...given);
  }) as T;
}

/** Files are read and written before their promises are made. */
export function installFiles(): void {
  const { appendFileSync, writeFileSync } = fs;
  Object.assign(require("node:fs"), {
    appendFileSync: withDisk(appendFileSync),
    writeFileSync: withDisk(writeFileSync),
    fsync(descriptor: number, done: (error: null) => void) {
      fs.fsyncSync(descriptor);
      done(null);
    },
  });
  syncBuiltinESMExports();
  const work: Record<string, unknown> = { ...fs };
  const names = [
    "stat",
    "mkdir",
    "readdir",
    "readFile",
    "writeFile",
    "appendFile",
    "rename",
    "rm",
    "utimes",
  ] as const;
  const entries = names.map((name) => {
    const now = work[`${name}Sync`] as (...given: unknown[]) => unknown;
    return [name, async (...given: unknown[]) => now(...given)];
  });
  const open = async (...given: Parameters<typeof fs.openSync>) => handleOf(fs.openSync(...given));
  Object.assign(require("node:fs/promises"), Object.fromEntries(entries), { open });
  syncBuiltinESMExports();
}

/** What the program uses of an open file. */
function handleOf(fd: number) {
  const close = async () => fs.closeSync(fd);
  return {
    fd,
    read: async (buffer: Buffer, offset: number, length: number, position: number) => ({
      bytesRead: fs.readSync(fd, buffer, offset, length, position),
      buffer,
    }),
    write: async (buffer: Buffer, offset?: number, length?: number, position?: number) => ({
      bytesWritten: withDisk(fs.writeSync)(fd, buffer, offset, length, position),
      buffer,
    }),
    stat: async () => fs.fstatSync(fd),
    truncate: async (size?: number) => fs.ftruncateSync(fd, size),
    sync: async () => fs.fsyncSync(fd),
    datasync: async () => fs.fdatasyncSync(fd),
    writeFile: async (data: string | Uint8Array) => fs.writeFileSync(fd, data),
    readFile: async (encoding: BufferEncoding) => fs.readFileSync(fd, { encoding }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Every port of this machine is free, and nothing waits for a socket to learn that. */
export function installPorts(): void {
  const server = {
    once: () => server,
    listen(_port: number, _host: string, listening: () => void) {
      queueMicrotask(listening);
      return server;
    },
    close: (closed: () => void) => closed(),
  };
  Object.assign(require("node:net"), { createServer: () => server });
  syncBuiltinESMExports();
}

/** How long a flush takes: usually, and while the disk stalls. */
const flushMs: readonly [number, number] = [0, 15];
const stallMs: readonly [number, number] = [100, 2_000];

/** Has writes wait until the flush before them is over, in their order; those that wait go together, or each alone. */
export function withFlushes(batch: Batch, random: Random): Batch {
  let freeAt = 0;
  let areAlone = false;
  let last: Promise<unknown> = Promise.resolve();
  return (write) => {
    const now = performance.now();
    if (freeAt <= now) {
      freeAt = now + random.between(...(random.chance(0.02) ? stallMs : flushMs));
      areAlone = random.chance(0.5);
    }
    const flushed = new Promise<void>((resolve) => setTimeout(resolve, freeAt - now));
    const turn = areAlone ? last : undefined;
    const written = flushed.then(() => turn).then(() => batch(write));
    last = written.catch(() => {});
    return written;
  };
}
