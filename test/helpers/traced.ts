import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

const calls = "trace=fsync,rename,write";
const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;

/** Why a test that traces is skipped; false where it can. */
export const skipTraced = !canTrace && "strace cannot be used here";

/** What a program wrote, flushed and renamed; each step is the number of a line of its trace, or -1. */
export interface Traced {
  /** The first call with this text. */
  at(text: string): number;
  /** When the last flush of a path with this end was done. */
  flushed(path: string): number;
  /** When the program said something on stdout. */
  said(text: string): number;
  /** Fails unless each step was taken, and in this order. */
  inOrder(...steps: number[]): void;
}

/** Runs a program to its end, and reads its file system calls. */
export function traced(t: TestContext, program: string, ...given: string[]): Traced {
  const folder = mkdtempSync(join(tmpdir(), "traced-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const trace = join(folder, "trace");
  const args = ["-f", "-y", "-s", "512", "-o", trace, "-e", calls, process.execPath, program];
  // With one thread for files, a call that is interrupted in the trace is the next one resumed.
  const env = { ...process.env, UV_THREADPOOL_SIZE: "1" };
  execFileSync("strace", [...args, ...given], { env });
  const lines = readFileSync(trace, "utf8").split("\n");
  return {
    at: (text) => lines.findIndex((line) => line.includes(text)),
    flushed(path) {
      const begun = lines.findLastIndex((l) => l.includes("fsync(") && l.includes(`${path}>`));
      const isWhole = !lines[begun]?.includes("<unfinished");
      return isWhole ? begun : lines.findIndex((l, i) => i > begun && l.includes("fsync resumed"));
    },
    said: (text) => lines.findIndex((l) => l.includes("write(1<") && l.includes(`"${text}\\n"`)),
    inOrder(...steps) {
      assert.ok(!steps.includes(-1), `${steps}: ${lines.join("\n")}`);
      const sorted = steps.toSorted((one, other) => one - other);
      assert.deepEqual(steps, sorted);
    },
  };
}
