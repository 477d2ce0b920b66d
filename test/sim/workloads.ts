import type { JobStatus } from "../../contract/statuses.ts";
import type { FakeJob } from "../helpers/fake-node.ts";

/** What a job does by itself. */
interface Workload {
  readonly endsAs: JobStatus;
  readonly reason: string | null;
  /** Null is that it never ends. */
  readonly afterMs: number | null;
  /** How it answers a probe: null is well. */
  readonly answer: string | null;
}

/** Why a replica whose task is broken is not well; no fault has these words. */
export const brokenWords = { mute: "503", crash: "it broke down" } as const;

/** What the `run` of a job does: `sleep 5`, `serve well`, `serve mute` or `serve crash`. */
export function workloadOf({ submission: { run } }: Pick<FakeJob, "submission">): Workload {
  const [, verb, rest] = /^(\w+) (\w+)/.exec(run ?? "") ?? [];
  if (verb !== "serve")
    return {
      ...{ endsAs: "SUCCEEDED", reason: null, answer: "refused" },
      afterMs: Number(rest ?? 1) * 1_000,
    };
  return {
    ...{ endsAs: "FAILED", reason: brokenWords.crash },
    afterMs: rest === "crash" ? 2_000 : null,
    answer: rest === "mute" ? brokenWords.mute : null,
  };
}
