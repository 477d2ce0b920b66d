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
  /** Says the step under way in other words; only who watches sees it. */
  reword(text: string): void;
  /** Ends the last step with the mark of its outcome. */
  end(outcome: Outcome): void;
}

/** How a step ended for us; what was `left` goes on without us, of what is `needless` nothing was to do. */
const marks = {
  done: { style: "green", mark: "✓" },
  failed: { style: "red", mark: "✗" },
  left: { style: "dim", mark: "…" },
  needless: { style: "dim", mark: "-" },
} as const;
export type Outcome = keyof typeof marks;

interface Step {
  readonly text: string;
  readonly startedMs: number;
}

/**
 * Shows steps as they come; as a sink it shows a request's text and takes its spinner for steps. The
 * text goes to the note side, or where `write` has it.
 */
export function openProgress(
  terminal: Terminal,
  clock: () => number = Date.now,
  write: Sink["write"] = terminal.draw,
): Progress {
  const steps = openSteps(terminal, clock);
  let isMidLine = false;
  const onFreshLine = () => {
    steps.pause();
    if (isMidLine) terminal.draw("\n");
    isMidLine = false;
    return steps;
  };
  return {
    step: (text) => onFreshLine().begin(text),
    reword: (text) => onFreshLine().reword(text),
    end: (outcome) => onFreshLine().end(outcome),
    write(bytes) {
      steps.pause();
      const written = write(bytes);
      isMidLine = bytes.at(-1) !== 10;
      if (!isMidLine) steps.resume();
      return written;
    },
    away() {
      onFreshLine();
      tellAway(terminal);
      steps.resume();
    },
    // Control lines come where a line begins.
    control(code, message) {
      if (code === "rich_init" || code === "rich_update") steps.begin(plainOf(message));
      if (code === "rich_stop") steps.pause();
      if (code === "rich_exit") steps.end("done");
    },
  };
}

/** One step after the other: with a spinner for a person, a line each for a file. */
function openSteps(terminal: Terminal, clock: () => number) {
  const spinner = openSpinner(terminal, clock);
  let step: Step | undefined;
  const resume = () => {
    if (step !== undefined) spinner.show(step);
  };
  const end = (outcome: Outcome) => {
    spinner.hide();
    if (step !== undefined && terminal.isLive)
      terminal.note(endedLine(terminal, step, clock(), outcome));
    step = undefined;
  };
  const begin = (text: string) => {
    if (text === "" || text === step?.text) return resume();
    end("done");
    step = { text, startedMs: clock() };
    if (!terminal.isLive) terminal.note(text);
    resume();
  };
  const reword = (text: string) => {
    if (step !== undefined) step = { ...step, text };
    resume();
  };
  return { begin, reword, end, pause: spinner.hide, resume };
}

/** A line that is drawn again and again until it is hidden; nothing where nobody watches. */
interface Spinner {
  show(step: Step): void;
  hide(): void;
}

function openSpinner(terminal: Terminal, clock: () => number): Spinner {
  let timer: NodeJS.Timeout | undefined;
  const draw = ({ text, startedMs }: Step) => {
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
    show(step) {
      hide();
      if (!terminal.isLive) return;
      draw(step);
      timer = setInterval(draw, frameMs, step).unref();
    },
  };
}

function endedLine(terminal: Terminal, step: Step, nowMs: number, outcome: Outcome): string {
  const { style, mark } = marks[outcome];
  const took = terminal.paintNote("dim", elapsed(nowMs - step.startedMs));
  return `${terminal.paintNote(style, mark)} ${step.text}${took}`;
}

/** A sink whose text is the answer itself; spinners stay on the note side and leave no lines. */
export function answerSink(terminal: Terminal): Sink {
  let isMidLine = false;
  return {
    write(bytes) {
      isMidLine = bytes.at(-1) !== 10;
      return terminal.write(bytes);
    },
    control: () => {},
    away: () => tellAway(terminal, isMidLine ? "\n" : ""),
  };
}

/** Whoever watches should know why nothing comes. */
function tellAway(terminal: Terminal, before = ""): void {
  const text = "The control plane does not answer; waiting for it";
  if (terminal.isLive) terminal.note(before + terminal.paintNote("dim", text));
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
