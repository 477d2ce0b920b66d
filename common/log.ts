import { Lines, stderr } from "./lines.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Fields first, constant message second. */
export type Log = Record<LogLevel, (fields: object, message: string) => void>;

/** Numbers that readers of pino's lines know. */
const numbers: Record<LogLevel, number> = { debug: 20, info: 30, warn: 40, error: 50 };

/**
 * The log of a program: a line an event as pino writes it, on stderr unless said otherwise. pino itself would
 * cost 4 MB, and make a stderr that is shared non-blocking.
 */
export function openLog(program: string, least: LogLevel, lines?: (line: string) => void): Log {
  const write = lines ?? toStderr(program);
  const writer = (level: LogLevel) => (fields: object, msg: string) => {
    if (numbers[level] < numbers[least]) return;
    const time = new Date().toISOString();
    write(`${JSON.stringify({ level: numbers[level], time, program, ...plain(fields), msg })}\n`);
  };
  return {
    debug: writer("debug"),
    info: writer("info"),
    warn: writer("warn"),
    error: writer("error"),
  };
}

function toStderr(program: string): (line: string) => void {
  const lines = new Lines(program, stderr());
  return (line) => lines.write(line);
}

function plain(fields: object): object {
  if (!("error" in fields) || !(fields.error instanceof Error)) return fields;
  const { message, stack } = fields.error;
  return { ...fields, error: { message, stack, cause: String(fields.error.cause ?? "") } };
}
