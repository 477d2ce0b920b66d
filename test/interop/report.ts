import { protocol } from "../../common/product.ts";
import type { Ended } from "./command.ts";
import { hasTraceback, type Line } from "./lines.ts";
import type { TaskFile } from "./tasks.ts";

/** What came of the command lines of one client, printed as it comes. */
export interface Report {
  readonly version: string;
  /** Adds a line; whether it ended as it should. */
  add(line: Line, ended: Ended, fault: string | undefined): boolean;
  /** Adds a task file whose line has been added. */
  addTask(file: TaskFile, isWell: boolean): void;
  /** Adds what is no line of the client, and must exit with 0. */
  check(what: string, ended: Ended): void;
  hasFaults(): boolean;
  /** The counts, as one line. */
  summary(): string;
}

/** Opens the report on a client; `showsAll` prints what each line wrote. */
export function openReport(version: string, showsAll: boolean): Report {
  const counts = { lines: 0, tracebacks: 0, sentences: 0, answers: 0, accepted: 0, taskFiles: 0 };
  const startedAt = performance.now();
  let faults = 0;

  const print = (what: string, { tookMs, text }: Ended, fault: string | undefined): void => {
    const seconds = (tookMs / 1000).toFixed(1).padStart(6);
    console.log(`${version.padEnd(12)} ${what.padEnd(62)}${seconds} s  ${fault ?? "ok"}`);
    if ((showsAll || fault !== undefined) && text !== "") console.log(`\n${text}`);
    if (fault !== undefined) faults += 1;
  };
  return {
    version,
    add(line, ended, fault) {
      counts.lines += 1;
      if (hasTraceback(ended)) counts.tracebacks += 1;
      else if (fault === undefined)
        counts[line.outcome === "sentence" ? "sentences" : "answers"] += 1;
      print([protocol.requestPrefix, ...line.args].join(" "), ended, fault);
      return fault === undefined;
    },
    addTask({ isAccepted }, isWell) {
      counts.taskFiles += 1;
      if (isAccepted && isWell) counts.accepted += 1;
    },
    check: (what, ended) =>
      print(what, ended, ended.exitCode === 0 ? undefined : `exit code ${ended.exitCode}`),
    hasFaults: () => faults > 0,
    summary() {
      const { lines, tracebacks, sentences, answers, accepted, taskFiles } = counts;
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      return (
        `${version}: ${lines} lines: ${tracebacks} tracebacks, ${sentences} sentences, ` +
        `${answers} right answers, ${faults} faults; ` +
        `${accepted} of ${taskFiles} task files accepted; ${seconds} s`
      );
    },
  };
}
