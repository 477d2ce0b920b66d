import * as fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { StatementSync } from "node:sqlite";
import type { Random } from "./random.ts";

/** Who sees the statements of the program under test. */
export interface Statements {
  /** Before each; what it throws is what the statement throws. */
  before(): void;
  /** Once a transaction is on disk. */
  committed(): void;
}

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

/** Files are read and written before their promises are made. */
export function installFiles(): void {
  const work: Record<string, unknown> = { ...fs };
  const names = [
    "stat",
    "mkdir",
    "readdir",
    "readFile",
    "writeFile",
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
      bytesWritten: fs.writeSync(fd, buffer, offset, length, position),
      buffer,
    }),
    stat: async () => fs.fstatSync(fd),
    truncate: async (size?: number) => fs.ftruncateSync(fd, size),
    sync: async () => fs.fsyncSync(fd),
    datasync: async () => fs.fdatasyncSync(fd),
    readFile: async (encoding: BufferEncoding) => fs.readFileSync(fd, { encoding }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

let watch: Statements | undefined;

/** Sees the statements that are run from now on; undefined sees none. */
export function watchStatements(statements: Statements | undefined): void {
  watch = statements;
}

/** Has statements tell of themselves. */
export function installDatabase(): void {
  for (const name of ["run", "all"] as const) {
    const work = StatementSync.prototype[name] as (...given: unknown[]) => unknown;
    StatementSync.prototype[name] = function (this: StatementSync, ...given: unknown[]) {
      watch?.before();
      const result = work.apply(this, given);
      if (this.sourceSQL === "commit") watch?.committed();
      return result as never;
    };
  }
}
