import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type FakeJob, isOver } from "../helpers/fake-node.ts";
import { Violation } from "./checks.ts";
import { recoveryOf } from "./job-wishes.ts";

/** An attempt at a managed job, as its node knows it and control may not. */
export interface Attempt {
  readonly taskId: string;
  readonly number: number;
  /** Its own one, or that of its worker. */
  readonly clusterId: string;
  readonly job: FakeJob;
  /** Whether a machine of it was lost, or about to be, while it ran, or once it was over. */
  hurt: "no" | "running" | "over";
  /** Control has seen that it is over. */
  isJudged: boolean;
  /** Its machine was deleted out of reach. */
  isAbandoned: boolean;
}

/** What may become of a task, and how many restarts it has then. */
interface Outcome {
  readonly to: string;
  readonly restarts: number;
}

/** Whether an attempt runs and goes on by itself. */
export const isWell = ({ job, hurt }: Attempt): boolean => hurt === "no" && !isOver(job.status);

/** Whether an attempt ended by itself on machines that are well, and control does not know. */
export const isUnjudged = ({ job, hurt, isJudged, isAbandoned }: Attempt): boolean =>
  job.exitCode !== null && hurt === "no" && !isJudged && !isAbandoned;

export const describeAttempt = ({ job, hurt }: Attempt): string =>
  `${job.status}, exit code ${job.exitCode}, hurt: ${hurt}, ${JSON.stringify(recoveryOf(job))}`;

/** What may become of a task whose attempt is over or lost. */
export function outcomesOf({ job, hurt }: Attempt, restarts: number): Outcome[] {
  const { strategy, maxRestartsOnErrors, recoverOnExitCodes } = recoveryOf(job);
  const { status, exitCode } = job;
  const lost = { to: strategy === "none" ? "FAILED" : "RECOVERING", restarts };
  const outcomes = hurt === "no" && status !== "FAILED_DRIVER" ? [] : [lost];
  if (exitCode === 0) return [...outcomes, { to: "SUCCEEDED", restarts }];
  // What fails on a machine that is about to go was ended by that.
  if (exitCode === null || hurt === "running") return outcomes;
  if (recoverOnExitCodes.includes(exitCode)) return [...outcomes, { to: "RECOVERING", restarts }];
  if (restarts < maxRestartsOnErrors)
    return [...outcomes, { to: "RECOVERING", restarts: restarts + 1 }];
  return [...outcomes, { to: "FAILED", restarts }];
}

/** What control keeps of an attempt's log is what that printed; all of it, where it ended well. */
export function checkLog({ taskId, number, job, hurt, isJudged }: Attempt, folder: string): void {
  const file = join(folder, taskId, `attempt-${number}.log`);
  const kept = existsSync(file) ? readFileSync(file, "utf8") : "";
  const what = `attempt ${number} printed ${JSON.stringify(job.text)}, kept is ${JSON.stringify(kept)}`;
  if (!job.text.startsWith(kept)) throw new Violation("the log of an attempt is wrong", what);
  const mustBeWhole = isJudged && hurt === "no";
  if (mustBeWhole && kept !== job.text)
    throw new Violation("the log of an attempt is not whole", what);
}
