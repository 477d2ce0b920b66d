import { writeSync } from "node:fs";
import { type Logger, pino } from "pino";

export type { Logger };

/** The log of a program: one JSON line an event on stderr, `LOG_LEVEL` its only switch. */
export function openLog(program: string, level: string): Logger {
  const options = { level, base: { program }, timestamp: pino.stdTimeFunctions.isoTime };
  return pino(options, { write: writeLine });
}

/** A log that cannot be written, as on a full disk, must not end the program: its lines are lost. */
function writeLine(line: string): void {
  try {
    writeSync(2, line);
  } catch {}
}
