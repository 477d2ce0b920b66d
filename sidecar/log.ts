import { openSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, pino } from "pino";
import { errorCodeOf, fail } from "../common/errors.ts";
import type { Passage } from "./forward/passage.ts";

export type { Logger };

const options = (level: string) => ({
  level,
  base: { program: "sidecar" },
  timestamp: pino.stdTimeFunctions.isoTime,
});

/** Where lines go. One that takes no more, as its disk is full or nobody reads, must not end the sidecar. */
const openLines = (how: Parameters<typeof pino.destination>[0]) =>
  pino.destination(how).on("error", () => {});

/** The log of what the sidecar itself does: one JSON line an event on stderr. */
export const openLog = (level: string): Logger =>
  pino(options(level), openLines({ dest: 2, sync: true }));

/** A line for each request, written within a second. */
export interface AccessLog {
  write(passage: Passage): void;
  /** Ends it with its last lines, if they can be written within a second. */
  close(): Promise<void>;
}

/** What may wait for a slow reader; lines beyond are dropped. */
const waitingBytesAtMost = 4_194_304;
const closeAtMostMs = 1_000;

/** Opens the access log on stderr or a file; undefined when it is off. Throws `ConfigError` when it cannot. */
export function openAccessLog(where: string): AccessLog | undefined {
  if (where === "off") return undefined;
  const destination = openLines({
    dest: where === "stderr" ? 2 : openFile(where),
    sync: false,
    minLength: 8_192,
    maxLength: waitingBytesAtMost,
    periodicFlush: 1_000,
  });
  const log = pino(options("info"), destination);
  return {
    write: (passage) => log.info(fieldsOf(passage), "request"),
    async close() {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      destination.once("close", resolve).once("error", resolve).end();
      await Promise.race([ended, sleep(closeAtMostMs)]);
      // With lines left, it would try for ever to write them before the process ends.
      destination.destroy();
    },
  };
}

function openFile(file: string): number {
  try {
    return openSync(file, "a");
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
