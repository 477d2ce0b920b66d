import { exitedWith } from "../../contract/exit-codes.ts";
import type { JobStatus } from "../../contract/statuses.ts";
import type { PartRow, Wanted } from "./part-store.ts";
import type { JobRow } from "./store.ts";

/** What the head does next for a job that was started. */
export type Step =
  /** Its ranks are all set up: let them run. */
  | { readonly do: "run" }
  /** How it ends is decided; what still runs of it must end first. */
  | Ending<"judge">
  /** Nothing of it is left. */
  | Ending<"finish">
  | { readonly do: "wait" };

interface Ending<Do> {
  readonly do: Do;
  readonly status: JobStatus;
  readonly reason: string | null;
  readonly exitCode: number | null;
}

type Judged = Pick<JobRow, "status" | "verdict" | "reason" | "exitCode" | "nodes">;
type Seen = Pick<PartRow, "rank" | "status" | "wanted" | "exitCode" | "reason">;

/** Decides from a job and its ranks. The first cause wins: a verdict is never changed. */
export function decide(job: Judged, parts: readonly Seen[]): Step {
  const isOver = parts.every(({ status }) => status === "ENDED");
  if (job.verdict !== null)
    return isOver
      ? {
          do: "finish",
          status: job.verdict,
          reason: reasonOf(job, parts),
          exitCode: job.exitCode,
        }
      : { do: "wait" };
  const failed = parts.find(({ status, exitCode }) => status === "ENDED" && exitCode !== 0);
  if (failed !== undefined) return { do: "judge", ...failureOf(job, failed) };
  if (isOver)
    return { do: "finish", status: "SUCCEEDED", reason: reasonOf(job, parts), exitCode: 0 };
  const isSetUp = parts.every(({ status }) => status !== "WAITING" && status !== "SETTING_UP");
  const mayRun = parts.some(({ wanted }) => wanted === ("setup" satisfies Wanted));
  return isSetUp && mayRun ? { do: "run" } : { do: "wait" };
}

/** Why a job ends as it does, and what its ranks could not end. */
function reasonOf({ reason, nodes }: Judged, parts: readonly Seen[]): string | null {
  const notes = parts
    // Without an exit code its reason is why the job failed, which is said already.
    .filter((part) => part.exitCode !== null && part.reason !== null)
    .map((part) => `${nodes > 1 ? `rank ${part.rank}: ` : ""}${part.reason}`);
  const reasons = [...(reason === null ? [] : [reason]), ...notes];
  return reasons.length === 0 ? null : reasons.join("; ");
}

function failureOf(job: Judged, { rank, exitCode, reason }: Seen): Omit<Ending<"judge">, "do"> {
  const isSetup = job.status === "SETTING_UP";
  const script = isSetup ? "setup" : "run";
  const who = job.nodes > 1 ? `rank ${rank}: ${script}` : script;
  if (exitCode === null)
    return {
      status: "FAILED_DRIVER",
      reason: `${job.nodes > 1 ? `rank ${rank}: ` : ""}${reason ?? "it ended and left no exit code"}`,
      exitCode,
    };
  const status = isSetup ? "FAILED_SETUP" : "FAILED";
  return { status, reason: `${who} ${exitedWith(exitCode)}`, exitCode };
}
