import { type ErrorType, toAppError } from "../../common/errors.ts";
import { Violation } from "./checks.ts";
import type { Process } from "./clock.ts";
import type { Program } from "./program.ts";
import { logWords } from "./workloads.ts";

/** What a user reads, of a cluster. */
export interface Read {
  readonly user: string;
  readonly operation: string;
  /** Of which cluster. */
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The statuses that the live cluster of a name has had since a read began; null is that there was none. */
export interface Watched {
  readonly statuses: ReadonlySet<string | null>;
  end(): void;
}

/** What readers tell of. */
interface Watcher {
  watch(clusterName: string): Watched;
  failed(violation: unknown): void;
  /** A read has ended. */
  ended(): void;
  note(line: string): void;
}

/** What users read while everything else goes on: each read ends, meets no bug, and tells what was. */
export interface Reads {
  begin(number: number, read: Read, program: Program, process: Process): Promise<void>;
  /** Those that have not ended, of processes that live. */
  unended(): string[];
}

const bug: ErrorType = "InternalError";

export function openReads({ watch, failed, ended, note }: Watcher): Reads {
  const open = new Map<number, { readonly what: string; readonly process: Process }>();
  return {
    async begin(number, { user, operation, name, input }, program, process) {
      const what = `${operation} ${name}`;
      const watched = watch(name);
      open.set(number, { what, process });
      try {
        const answer = await program.read(operation, user, input);
        note(`${number} ${what}: ${JSON.stringify(answer)}`);
        checks[operation]?.(answer, watched, what);
      } catch (error) {
        note(`${number} ${what}: ${error}`);
        // Nobody gets what a dead process still answers.
        if (!process.isAlive) return;
        if (error instanceof Violation || toAppError(error).type === bug) failed(error);
      } finally {
        open.delete(number);
        watched.end();
        ended();
      }
    },
    unended: () =>
      [...open.values()]
        .filter(({ process }) => process.isAlive)
        .map(({ what }) => `${what} has not ended`),
  };
}

/** What must hold of what was read. */
const checks: Readonly<Record<string, (answer: unknown, watched: Watched, what: string) => void>> =
  {
    status(answer, { statuses }, what) {
      const [record] = answer as { status: string }[];
      const status = record?.status ?? null;
      if (!statuses.has(status))
        throw new Violation(
          "status tells what never was",
          `${what}: ${status}, was ${[...statuses]}`,
        );
    },
    queue(answer, _, what) {
      const ids = (answer as { job_id: number }[]).map((job) => job.job_id);
      if (new Set(ids).size < ids.length)
        throw new Violation("a job is twice in the queue", `${what}: ${ids}`);
    },
    logs: checkPrinted,
    "jobs.logs": checkPrinted,
  };

/** What each job printed is there from its beginning, in order and once. */
function checkPrinted(answer: unknown, _: Watched, what: string): void {
  const lines = (answer as string).matchAll(/\b(\w+) ([\w-]+)\n/g);
  const printed = Map.groupBy(lines, ([, , id]) => id);
  for (const [id, found] of printed) {
    const words = found.flatMap(([, word]) => logWords.filter((known) => known === word));
    if (words.some((word, index) => word !== logWords[index]))
      throw new Violation("a log has gaps or repeats", `${what}: ${words} of ${id}`);
  }
}
