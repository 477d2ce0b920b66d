import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError, fail } from "../common/errors.ts";
import { findProcess } from "../common/process-tree.ts";
import { type ControlProcess, controlPidFile } from "../contract/control-pid.ts";

export interface Lock {
  /** Writes down where control listens, for clients on this machine. */
  tell(address: { host: string; port: number; tls?: boolean }): void;
  release(): void;
}

/** Takes a home for this process; throws `ConflictError` while another control plane has it. */
export function lockHome(home: string): Lock {
  const file = join(home, controlPidFile);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const claim = claimFile(join(home, "control.lock"));
  if (claim === undefined)
    fail("ConflictError", `a control plane${holderOf(file)} already serves ${home}`);
  const self = { pid: process.pid, startTicks: findProcess(process.pid)?.startTicks ?? 0 };
  write(file, self);
  return {
    tell: ({ host, port, tls = false }) =>
      write(file, { ...self, host, port, ...(tls && { tls }) }),
    release() {
      rmSync(file, { force: true });
      claim.close();
      claims.delete(claim);
    },
  };
}

/** A database that nobody refers to is closed, and with it the home given back. */
const claims = new Set<DatabaseSync>();

/** Source: sqlite.org/rescode.html, SQLITE_BUSY. */
const busyCode = 5;

/**
 * A file that is ours until it is closed; undefined while it is another process's. Node.js itself
 * has no such locks, but a database is one, and the kernel opens it when its owner dies.
 */
function claimFile(file: string): DatabaseSync | undefined {
  const claim = new DatabaseSync(file, { timeout: 0 });
  try {
    claim.exec("BEGIN EXCLUSIVE");
    claims.add(claim);
    return claim;
  } catch (error) {
    claim.close();
    if (!(error instanceof Error)) throw error;
    if ("errcode" in error && error.errcode === busyCode) return undefined;
    throw new AppError("RuntimeError", `${file} cannot be locked: ${error.message}`, {}, error);
  }
}

/** Which process it is, for people; it may not have said so yet. */
function holderOf(file: string): string {
  try {
    return ` with pid ${(JSON.parse(readFileSync(file, "utf8")) as ControlProcess).pid}`;
  } catch {
    return "";
  }
}

function write(file: string, holder: ControlProcess): void {
  writeFileSync(`${file}.new`, JSON.stringify(holder));
  renameSync(`${file}.new`, file);
}
