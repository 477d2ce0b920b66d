import { type Logger, pino } from "pino";

export type { Logger };

/** The log of a program: one JSON line an event on stderr, `LOG_LEVEL` its only switch. */
export function openLog(program: string, level: string): Logger {
  return pino(
    { level, base: { program }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
