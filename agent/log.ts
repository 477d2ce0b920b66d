import { writeSync } from "node:fs";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Fields first, constant message second. */
export type Log = Record<LogLevel, (fields: object, message: string) => void>;

/** Numbers that readers of pino's lines know. */
const numbers: Record<LogLevel, number> = { debug: 20, info: 30, warn: 40, error: 50 };

/** The agent's log: lines as pino writes them, on stderr. Not pino itself: it would cost 4 MB. */
export function openLog(least: LogLevel): Log {
  const writer = (level: LogLevel) => (fields: object, msg: string) => {
    if (numbers[level] < numbers[least]) return;
    const time = new Date().toISOString();
    const line = { level: numbers[level], time, program: "agent", ...plain(fields), msg };
    writeLine(`${JSON.stringify(line)}\n`);
  };
  return {
    debug: writer("debug"),
    info: writer("info"),
    warn: writer("warn"),
    error: writer("error"),
  };
}

/** A log that nobody reads any more must not end the agent. */
function writeLine(line: string): void {
  try {
    writeSync(2, line);
  } catch {}
}

function plain(fields: object): object {
  if (!("error" in fields) || !(fields.error instanceof Error)) return fields;
  const { message, stack } = fields.error;
  return { ...fields, error: { message, stack, cause: String(fields.error.cause ?? "") } };
}
