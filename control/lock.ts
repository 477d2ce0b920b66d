import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCodeOf, fail } from "../common/errors.ts";
import { findProcess, isAlive, type ProcessId } from "../common/process-tree.ts";

/** What `control.pid` holds; host and port once control listens. */
interface Holder extends ProcessId {
  host?: string;
  port?: number;
}

export interface Lock {
  /** Writes down where control listens, for clients on this machine. */
  tell(address: { host: string; port: number }): void;
  release(): void;
}

/** Takes a home for this process; throws `ConflictError` while another control plane has it. */
export function lockHome(home: string): Lock {
  const file = join(home, "control.pid");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const holder = readHolder(file);
  if (holder !== undefined && holder.pid !== process.pid && isAlive(holder))
    fail("ConflictError", `a control plane with pid ${holder.pid} already serves ${home}`);
  const self = { pid: process.pid, startTicks: findProcess(process.pid)?.startTicks ?? 0 };
  write(file, self);
  return {
    tell: ({ host, port }) => write(file, { ...self, host, port }),
    release: () => rmSync(file, { force: true }),
  };
}

function readHolder(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function write(file: string, holder: Holder): void {
  writeFileSync(`${file}.new`, JSON.stringify(holder));
  renameSync(`${file}.new`, file);
}
