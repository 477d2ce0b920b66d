import { performance } from "node:perf_hooks";
import { type Logger, pino } from "pino";
import type { Passage } from "./forward/passage.ts";

export type { Logger };

const options = (level: string) => ({
  level,
  base: { program: "sidecar" },
  timestamp: pino.stdTimeFunctions.isoTime,
});

/** The log of what the sidecar itself does: one JSON line an event on stderr. */
export const openLog = (level: string): Logger =>
  pino(options(level), pino.destination({ dest: 2, sync: true }));

/** A line for each request, written within a second. */
export interface AccessLog {
  write(passage: Passage): void;
  close(): void;
}

/** What may wait for a slow reader; lines beyond are dropped. */
const waitingBytesAtMost = 4_194_304;

/** Opens the access log on stderr or a file; undefined when it is off. */
export function openAccessLog(where: string): AccessLog | undefined {
  if (where === "off") return undefined;
  const destination = pino.destination({
    dest: where === "stderr" ? 2 : where,
    sync: false,
    minLength: 8_192,
    maxLength: waitingBytesAtMost,
    periodicFlush: 1_000,
  });
  // A log that nobody reads any more must not end the sidecar.
  destination.on("error", () => {});
  const log = pino(options("info"), destination);
  return {
    write: (passage) => log.info(fieldsOf(passage), "request"),
    close: () => destination.flushSync(),
  };
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
