import type { Sink } from "./follow.ts";
import { cut, duration } from "./rendering.ts";
import type { Terminal } from "./terminal.ts";

const frames = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
const frameMs = 80;
const clearLine = "\r\u001b[K";

/** What is being done, shown on the note side: a spinner for a person, plain lines for a file. */
export interface Progress extends Sink {
  /** Begins a step; the one before is done. */
  step(text: string): void;
  /** Ends the last step with the mark of its outcome. */
  end(outcome: Outcome): void;
}

/** How a step ended for us; what was `left` goes on without us. */
const marks = {
  done: { style: "green", mark: "✓" },
  failed: { style: "red", mark: "✗" },
  left: { style: "dim", mark: "…" },
} as const;
export type Outcome = keyof typeof marks;

/** A line that is drawn again and again until it is hidden; nothing where nobody watches. */
interface Spinner {
  show(text: string, startedMs: number): void;
  hide(): void;
}

function openSpinner(terminal: Terminal, clock: () => number): Spinner {
  let timer: NodeJS.Timeout | undefined;
  const draw = (text: string, startedMs: number) => {
    const elapsedMs = clock() - startedMs;
    const frame = frames[Math.floor(elapsedMs / frameMs) % frames.length] ?? "";
    const line = cut(`${frame} ${text}${elapsed(elapsedMs)}`, terminal.noteColumns - 1);
    terminal.draw(`${clearLine}${line}`);
  };
  const hide = () => {
    if (timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    terminal.draw(clearLine);
  };
  return {
    hide,
    show(text, startedMs) {
      hide();
      if (!terminal.isLive) return;
      draw(text, startedMs);
      timer = setInterval(draw, frameMs, text, startedMs).unref();
    },
  };
}

interface Step {
  readonly text: string;
  readonly startedMs: number;
}

/** Shows steps as they come; as a sink it shows a request's text and takes its spinner for steps. */
export function openProgress(terminal: Terminal, clock: () => number = Date.now): Progress {
  const spinner = openSpinner(terminal, clock);
  let step: Step | undefined;
  let atLineStart = true;

  const end = (outcome: Outcome) => {
    spinner.hide();
    if (step !== undefined && terminal.isLive)
      terminal.note(`${atLineStart ? "" : "\n"}${endedLine(terminal, step, clock(), outcome)}`);
    atLineStart = true;
    step = undefined;
  };
  const begin = (text: string) => {
    if (text === "" || text === step?.text) return;
    end("done");
    step = { text, startedMs: clock() };
    if (terminal.isLive) spinner.show(text, step.startedMs);
    else terminal.note(text);
  };
  return {
    step: begin,
    end,
    write(bytes) {
      spinner.hide();
      terminal.draw(bytes);
      atLineStart = bytes.at(-1) === 10;
      if (step !== undefined && atLineStart) spinner.show(step.text, step.startedMs);
    },
    control(code, message) {
      if (code === "rich_init" || code === "rich_update") begin(plainOf(message));
      if (code === "rich_stop") spinner.hide();
      if (code === "rich_exit") end("done");
    },
  };
}

function endedLine(terminal: Terminal, step: Step, nowMs: number, outcome: Outcome) {
  const { style, mark } = marks[outcome];
  return `${terminal.paintNote(style, mark)} ${step.text}${terminal.paintNote("dim", elapsed(nowMs - step.startedMs))}`;
}

/** A sink whose text is the answer itself; spinners stay on the note side and leave no lines. */
export function answerSink(terminal: Terminal): Sink {
  return { write: (bytes) => terminal.write(bytes), control: () => {} };
}

function elapsed(ms: number): string {
  if (ms < 1_000) return "";
  return `  ${ms < 10_000 ? `${(ms / 1_000).toFixed(1)}s` : duration(ms / 1_000)}`;
}

/** The text without the markup that spinners of this protocol may carry: `[dim]…[/dim]`. */
const plainOf = (markup: string) =>
  markup
    .replace(/\[\/?[a-z][\w #]*\]|\[\/\]/g, "")
    .split("\n")[0]
    ?.trim() ?? "";
