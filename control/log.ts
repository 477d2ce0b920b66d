import { type Logger, pino } from "pino";
import { Lines, stderr } from "../common/lines.ts";

export type { Logger };

/** The log of a program: one JSON line an event on stderr, `LOG_LEVEL` its only switch. It never waits. */
export function openLog(program: string, level: string): Logger {
  const options = { level, base: { program }, timestamp: pino.stdTimeFunctions.isoTime };
  return pino(options, new Lines(program, stderr()));
}
