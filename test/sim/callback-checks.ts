import type { Told } from "./callbacks.ts";
import { type Move, Violation } from "./checks.ts";
import type { Process } from "./clock.ts";
import type { Task } from "./job-checks.ts";

type Row = Pick<Task, "id" | "job_id" | "number" | "called_back" | "settled_at">;

/** A change of a task, as its script is told of it. */
interface Change {
  readonly seq: number;
  readonly status: string;
}

const neverTold = -1;
const submitted: Change = { seq: 0, status: "SUBMITTED" };

/** Scripts are told of each change, one after the other. */
export function openCallbackChecks() {
  const changes = new Map<string, Change[]>();
  /** What scripts were begun for. */
  const begun = new Set<string>();
  let rows: readonly Row[] = [];
  let last = new Map<string, number | null>();
  /** The jobs whose scripts run, by the process that waits for them. */
  const running = new WeakMap<Process, Set<number>>();

  const nextOf = ({ id, called_back: toldOf }: Pick<Row, "id" | "called_back">) =>
    [submitted, ...(changes.get(id) ?? [])].find(({ seq }) => seq > (toldOf ?? 0));

  /** What was told before is told no more, and nothing is left out. */
  function checkRow(row: Row): void {
    const { id, called_back: now } = row;
    const before = last.get(id) ?? (now === null ? null : neverTold);
    if (now === before || before === null) return;
    const due = nextOf({ id, called_back: before });
    const isRight =
      now === null
        ? row.settled_at !== null && due === undefined
        : now === due?.seq && begun.has(`${id} ${now}`);
    if (!isRight)
      throw new Violation("a callback is left out", `after ${before}: ${now}, ${due?.status}`);
  }

  return {
    committed(found: readonly Row[], moved: readonly Move[]): void {
      for (const { noun, subject_id: id, seq, from_status: from, to_status: to } of moved)
        if (noun === "managed_job")
          changes.set(id, [...(changes.get(id) ?? []), { seq, status: wordOf(from, to) }]);
      if (found === rows) return;
      rows = found;
      for (const row of found) checkRow(row);
      last = new Map(found.map((row) => [row.id, row.called_back]));
    },
    /** A script begins; `isNewest` where no other process has taken over from its own. */
    began({ job, task, status }: Told, by: Process, done: Promise<unknown>, isNewest: boolean) {
      const row = rows.find((one) => one.job_id === job && one.number === task);
      const due = row && nextOf(row);
      if (row !== undefined && due !== undefined) begun.add(`${row.id} ${due.seq}`);
      if (isNewest && due?.status !== status)
        throw new Violation("a callback is told something else", `${status}, not ${due?.status}`);
      const jobs = running.get(by) ?? new Set();
      running.set(by, jobs);
      if (jobs.has(job)) throw new Violation("two callbacks of a job run", `${job}`);
      jobs.add(job);
      void done.then(() => jobs.delete(job));
    },
    untold: (found: readonly Row[]): string[] =>
      found
        .filter((row) => row.settled_at !== null && row.called_back !== null)
        .map(({ job_id }) => `the callback of managed job ${job_id} has not been told all`),
  };
}

/** As the documentation of callbacks has it. */
function wordOf(from: string, to: string): string {
  if (to === "RUNNING") return from === "RECOVERING" ? "RECOVERED" : "STARTED";
  return to.startsWith("FAILED") ? "FAILED" : to;
}
