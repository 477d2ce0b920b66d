import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import { type Answers, askHidden } from "./hidden-input.ts";
import type { Env } from "./settings.ts";

export type Style = Parameters<typeof styleText>[0];
/** Colours a text, or leaves it alone where colours are not wanted. */
export type Paint = (style: Style, text: string) => string;

/** Where answers and notes go, and who reads them. */
export interface Terminal {
  /** Width of what reads the answers; infinite when that is no terminal. */
  readonly columns: number;
  /** Whether notes are read by a person as they appear. */
  readonly isLive: boolean;
  readonly paint: Paint;
  readonly paintNote: Paint;
  /** A line, or several, of the answer. */
  answer(text: string): void;
  /** Bytes of the answer as they are; resolves once they may be followed by more. */
  write(bytes: Uint8Array): Promise<void>;
  /** A line for the person: progress, hints; left out when quiet. */
  note(text: string): void;
  /** A line that says what failed, also when quiet. */
  warn(text: string): void;
  /** Puts text on the note side as it is. */
  draw(text: string | Uint8Array): void;
  /** Width of the note side. */
  readonly noteColumns: number;
  /** Whether a question would be read; its answer may come from elsewhere than a terminal. */
  readonly canAsk: boolean;
  /** Asks until it hears yes or no; the end of input is a no. */
  confirm(question: string, how: Asking): Promise<Said>;
  /** Asks one question after the other, without showing what is typed. */
  askHidden(questions: readonly string[], signal: AbortSignal): Promise<Answers>;
}

/** What a question brought; `interrupted` is Ctrl-C. */
export type Said = "yes" | "no" | "interrupted";

/** How a question is asked: `usual` is what an empty answer means. */
export interface Asking {
  readonly usual: Said;
  readonly signal: AbortSignal;
}

/** The input of a process; a terminal or not. */
export type Input = Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
/** An output of a process; a terminal has a size. */
export type Output = Writable & { isTTY?: boolean; columns?: number; rows?: number };

export interface Streams {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** The terminal over the three streams of the process. */
export function openTerminal({ stdin, stdout, stderr }: Streams, env: Env): Terminal {
  return {
    columns: columnsOf(stdout),
    noteColumns: columnsOf(stderr),
    isLive: isLive(stderr, env),
    paint: painter(wantsColour(stdout, env)),
    paintNote: painter(wantsColour(stderr, env)),
    answer: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    warn: (text) => void stderr.write(`${text}\n`),
    draw: (text) => void stderr.write(text),
    write: async (bytes) => {
      if (!stdout.write(bytes)) await once(stdout, "drain");
    },
    canAsk: stderr.isTTY === true,
    confirm: (question, how) => confirm(stdin, stderr, question, how),
    askHidden: (questions, signal) => askHidden(stdin, stderr, questions, signal),
  };
}

/** The same terminal for answers and errors alone. */
export const quietened = (terminal: Terminal): Terminal => ({
  ...terminal,
  isLive: false,
  note() {},
  draw() {},
});

const columnsOf = (stream: Output) =>
  stream.isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY;

const isLive = (stream: Output, env: Env) =>
  stream.isTTY === true && env["TERM"] !== "dumb" && !env["CI"];

/** Source: no-color.org, and FORCE_COLOR as Node.js reads it. */
function wantsColour(stream: Output, env: Env): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"] && env["FORCE_COLOR"] !== "0") return true;
  return stream.isTTY === true && env["TERM"] !== "dumb";
}

const painter =
  (wanted: boolean): Paint =>
  (style, text) =>
    wanted && text !== "" ? styleText(style, text, { validateStream: false }) : text;

function confirm(
  stdin: Input,
  stderr: Output,
  question: string,
  { usual, signal }: Asking,
): Promise<Said> {
  const lines = createInterface({ input: stdin, output: stderr, signal });
  const { promise, resolve } = Promise.withResolvers<Said>();
  const end = (said: Said) => {
    resolve(said);
    lines.off("close", leave).close();
  };
  const leave = (said: Said = signal.aborted ? "interrupted" : "no") => {
    stderr.write(stdin.isTTY || said !== "no" ? "\n" : `\n${unanswered}\n`);
    end(said);
  };
  lines.on("line", (line) => {
    const said = line.trim() === "" ? usual : saidBy(line.trim());
    if (said === undefined) lines.prompt();
    else end(said);
  });
  lines.once("SIGINT", () => leave("interrupted")).once("close", leave);
  lines.setPrompt(`${question} ${usual === "yes" ? "[Y/n]" : "[y/N]"} `);
  lines.prompt();
  return promise;
}

const unanswered = "There was no answer. Pass -y to confirm without a question.";

function saidBy(word: string): Said | undefined {
  if (/^y(es)?$/i.test(word)) return "yes";
  return /^no?$/i.test(word) ? "no" : undefined;
}
