import { stripVTControlCharacters } from "node:util";
import type { Sink } from "./follow.ts";
import type { LogLine } from "./output/logs.ts";
import { answerSink } from "./progress.ts";
import type { World } from "./world.ts";

/** Where the text of a log goes; `end` lets go of a last line that has no end. */
export interface LogSink extends Sink {
  end(): Promise<void>;
}

/** What of a log is shown, and how. */
export interface LogChoice {
  /** Only lines in which it is found. */
  readonly grep?: RegExp | undefined;
  /** Puts before each line when it began. */
  readonly timestamps?: boolean | undefined;
  /** What lines are of, in JSON. */
  readonly of?: Partial<LogLine>;
  /** Stands before each line that is not JSON. */
  readonly prefix?: string;
}

/** A longer line is shown in parts. */
const longestLine = 1024 * 1024;
const newline = 10;

/** Shows a log as the answer: as it is, or line by line where lines are chosen, marked, or JSON. */
export function openLogSink(world: World, choice: LogChoice): LogSink {
  const { grep, timestamps = false, of = {}, prefix = "" } = choice;
  const answer = answerSink(world.terminal);
  if (!world.json && grep === undefined && prefix === "" && !timestamps)
    return { ...answer, end: async () => {} };
  let rest: Buffer = Buffer.alloc(0);
  let at: string | null = null;

  async function show(bytes: Buffer): Promise<void> {
    const line = bytes.toString().replace(/\r$/, "");
    const plain = stripVTControlCharacters(line);
    if (grep !== undefined && !grep.test(plain)) return;
    const before = timestamps ? `${prefix}${at ?? "-"} ` : prefix;
    const shown = world.json
      ? JSON.stringify({ ...noSource, ...of, at, line: plain })
      : before + line;
    await answer.write(Buffer.from(`${shown}\n`));
  }

  return {
    ...answer,
    control(code, message) {
      if (code === "instant") at = message || null;
      else answer.control(code, message);
    },
    async write(bytes) {
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      for (let at = rest.indexOf(newline); at >= 0; at = rest.indexOf(newline)) {
        const line = rest.subarray(0, at);
        rest = rest.subarray(at + 1);
        await show(line);
      }
      if (rest.length < longestLine) return;
      const part = rest;
      rest = Buffer.alloc(0);
      await show(part);
    },
    async end() {
      const last = rest;
      rest = Buffer.alloc(0);
      if (last.length > 0) await show(last);
    },
  };
}

const noSource: Omit<LogLine, "at" | "line"> = {
  ...{ cluster: null, job_id: null, service: null, replica: null, request_id: null },
};
