import { readEnv } from "../../common/product.ts";
import type { JobStatus } from "../../contract/statuses.ts";
import type { FakeJob } from "../helpers/fake-node.ts";

/** What a job does by itself. */
interface Workload {
  readonly endsAs: JobStatus;
  readonly reason: string | null;
  /** Where it ends by itself. */
  readonly exitCode: number;
  /** Null is that it never ends. */
  readonly afterMs: number | null;
  /** How it answers a probe: null is well. */
  readonly answer: string | null;
}

/** What a job prints, in this order, each time with its id. */
export const logWords = ["begun", "half", "done"] as const;
export type LogWord = (typeof logWords)[number];

/** Why a replica whose task is broken is not well; no fault has these words. */
export const brokenWords = { mute: "503", crash: "it broke down" } as const;

/**
 * What the `run` of a job does: `sleep 5`, `exit 3 after 5 times 2`, which then succeeds, `serve well`,
 * `serve mute` or `serve crash`.
 */
export function workloadOf({ submission: { run, env } }: Pick<FakeJob, "submission">): Workload {
  const [, verb, rest] = /^(\w+) (\w+)/.exec(run ?? "") ?? [];
  if (verb === "exit") return exiting(run ?? "", Number(readEnv(env, "RECOVERY_COUNT")));
  if (verb !== "serve")
    return {
      ...{ endsAs: "SUCCEEDED", reason: null, exitCode: 0, answer: "refused" },
      afterMs: Number(rest ?? 1) * 1_000,
    };
  return {
    ...{ endsAs: "FAILED", reason: brokenWords.crash, exitCode: 1 },
    afterMs: rest === "crash" ? 2_000 : null,
    answer: rest === "mute" ? brokenWords.mute : null,
  };
}

/** Whether a job is a server that does not become ready. */
export const breaksDown = ({ submission: { run } }: Pick<FakeJob, "submission">): boolean =>
  /^serve (mute|crash)/.test(run ?? "");

/** It fails as often as it says, over all attempts that ran. */
function exiting(run: string, recoveries: number): Workload {
  const [code = 0, seconds = 0, times = 0] = (run.match(/\d+/g) ?? []).map(Number);
  const exitCode = recoveries < times ? code : 0;
  return {
    ...{ exitCode, answer: "refused", afterMs: seconds * 1_000 },
    ...(exitCode === 0
      ? { endsAs: "SUCCEEDED", reason: null }
      : { endsAs: "FAILED", reason: `run exited with ${code}` }),
  };
}

/** How long the jobs of a task file run in all, one after another, where each fails as often as it may. */
export function longestWorkMs(tasks: string): number {
  const runs = tasks.matchAll(/^run: (?:sleep|exit \d+ after) (\d+)(?: times (\d+))?$/gm);
  return [...runs].reduce(
    (ms, [, seconds, times = 0]) => ms + Number(seconds) * (Number(times) + 1) * 1_000,
    0,
  );
}
