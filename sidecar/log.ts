import { performance } from "node:perf_hooks";
import { errorCodeOf, fail } from "../common/errors.ts";
import { Lines, openPlace, type Place, stderr } from "../common/lines.ts";
import { type Log, type LogLevel, openLog } from "../common/log.ts";
import type { Passage } from "./forward/passage.ts";

const program = "sidecar";

/** What the sidecar itself does, one JSON line an event on stderr, and what it forwards. Neither ever waits. */
export interface Logs {
  readonly log: Log;
  /** Writes a line for each request within a second; undefined when that is off. */
  readonly access: ((passage: Passage) => void) | undefined;
  /** How many lines were dropped, as nothing took them. */
  readonly dropped: number;
  /** Ends both with their last lines, if a disk takes them within a second. */
  close(): Promise<void>;
}

/** Opens both, the access log on stderr, in a file or nowhere. Throws `ConfigError` when it cannot. */
export function openLogs(level: LogLevel, accessLog: string): Logs {
  const own = new Lines(program, stderr());
  const isOwn = accessLog === "stderr" || accessLog === "off";
  const others = isOwn ? own : new Lines(program, openFile(accessLog));
  const all = new Set([own, others]);
  const requests = openLog(program, "info", (line) => others.writeSoon(line));
  return {
    log: openLog(program, level, (line) => own.write(line)),
    access:
      accessLog === "off" ? undefined : (passage) => requests.info(fieldsOf(passage), "request"),
    get dropped() {
      return [...all].reduce((sum, { dropped }) => sum + dropped, 0);
    },
    async close() {
      await Promise.all([...all].map((lines) => lines.close()));
    },
  };
}

function openFile(file: string): Place {
  try {
    return openPlace(file);
  } catch (error) {
    fail("ConfigError", `the access log ${file} cannot be written: ${errorCodeOf(error)}`);
  }
}

const fieldsOf = ({ keyId, address, outcome, ...passage }: Passage) => ({
  key: keyId,
  address,
  method: passage.method,
  path: passage.path,
  status: passage.status,
  outcome,
  tookMs: Math.round((performance.now() - passage.startedAtMs) * 1_000) / 1_000,
  bytesIn: passage.bytesIn,
  bytesOut: passage.bytesOut,
});
