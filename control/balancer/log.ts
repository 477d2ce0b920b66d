import { performance } from "node:perf_hooks";
import { Lines, stderr } from "../../common/lines.ts";
import { type Log, openLog } from "../../common/log.ts";
import type { Observer } from "../../sidecar/forward/front.ts";
import type { Passage } from "../../sidecar/forward/passage.ts";
import type { Config } from "./config.ts";
import { turningFile } from "./log-file.ts";

/** A line for each request, written within a second. */
export interface AccessLog extends Observer {
  /** Ends it with its last lines, if a disk takes them within a second. */
  close(): Promise<void>;
}

/** What the balancer itself does, one JSON line an event, and what it forwards. */
export interface Logs {
  readonly log: Log;
  readonly access: AccessLog;
}

const lookEveryMs = 1_000;

/** Opens both in the same place: a file, or stderr. Neither ever waits. */
export function openLogs({ level, access, file, fileBytes }: Config["logs"]): Logs {
  const lines = new Lines(program, file === undefined ? stderr() : turningFile(file, fileBytes));
  // A balancer that writes nothing sees, too, that another one has turned the file.
  if (file !== undefined) setInterval(() => lines.look(), lookEveryMs).unref();
  const log = openLog(program, level, (line) => lines.write(line));
  return { log, access: access === "off" ? nothing : accessTo(lines) };
}

const program = "balancer";

const nothing: AccessLog = { wantsPath: false, ended() {}, async close() {} };

/** No header, body or query is in it. */
function accessTo(lines: Lines): AccessLog {
  const log = openLog(program, "info", (line) => lines.writeSoon(line));
  return {
    wantsPath: true,
    ended: (passage) => log.info(fieldsOf(passage), "request"),
    close: () => lines.close(),
  };
}

const fieldsOf = ({ method, path, status, outcome, way, ...passage }: Passage) => ({
  ...{ method, path, status, outcome },
  replica: way === "" ? null : Number(way),
  tookMs: Math.round((performance.now() - passage.startedAtMs) * 1_000) / 1_000,
  bytesIn: passage.bytesIn,
  bytesOut: passage.bytesOut,
});
