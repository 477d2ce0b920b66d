import { performance } from "node:perf_hooks";
import { type Logger, pino } from "pino";
import type { Observer } from "../../sidecar/forward/front.ts";
import type { Passage } from "../../sidecar/forward/passage.ts";
import type { Config } from "./config.ts";
import { type Destination, turnOver } from "./log-file.ts";

export type { Logger };

/** A line for each request, written within a second. */
export interface AccessLog extends Observer {
  close(): void;
}

/** What the balancer itself does, one JSON line an event, and what it forwards. */
export interface Logs {
  readonly log: Logger;
  readonly access: AccessLog;
}

/** What may wait for a slow disk; lines beyond are dropped. */
const waitingBytesAtMost = 4_194_304;

const stderr = 2;

/** Opens both in the same place. */
export function openLogs({ level, access, file, fileBytes }: Config["logs"]): Logs {
  const place = { dest: file ?? stderr, mode: 0o600 };
  const prompt = pino.destination({ ...place, sync: true });
  const isOff = access === "off";
  const patient = isOff ? undefined : pino.destination({ ...place, ...patience });
  const all = patient === undefined ? [prompt] : [prompt, patient];
  // A log that cannot be written any more must not end the balancer.
  for (const one of all) one.on("error", () => {});
  if (file !== undefined) turnOver(file, fileBytes, all);
  const log = logTo(prompt, level);
  return { log, access: patient === undefined ? nothing : accessTo(patient) };
}

const patience = {
  sync: false,
  minLength: 8_192,
  maxLength: waitingBytesAtMost,
  // Of nothing, too, so that whoever writes no line sees that another one has turned the file.
  periodicFlush: 1_000,
};

const logTo = (destination: Destination, level: string): Logger =>
  pino(
    { level, base: { program: "balancer" }, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  );

const nothing: AccessLog = { wantsPath: false, ended() {}, close() {} };

/** No header, body or query is in it. */
function accessTo(destination: Destination): AccessLog {
  const log = logTo(destination, "info");
  return {
    wantsPath: true,
    ended: (passage) => log.info(fieldsOf(passage), "request"),
    close: () => destination.flushSync(),
  };
}

const fieldsOf = ({ method, path, status, outcome, way, ...passage }: Passage) => ({
  ...{ method, path, status, outcome },
  replica: way === "" ? null : Number(way),
  tookMs: Math.round((performance.now() - passage.startedAtMs) * 1_000) / 1_000,
  bytesIn: passage.bytesIn,
  bytesOut: passage.bytesOut,
});
