import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../../client/sdk.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import type { ManagedJobRecord } from "../../../contract/records/jobs.ts";

const lookEveryMs = 20;

/** What a bench submits besides the script. */
interface Given {
  readonly pool?: string;
  readonly copies?: number;
}

/** Submits a managed job; the number of its first copy. */
export async function submit(client: Client, run: string, { pool, copies }: Given = {}) {
  const task = JSON.stringify({ name: "bench", run });
  const input = { task, name: null, pool: pool ?? null, num_jobs: copies ?? null };
  const { job_id } = await client.callAndGet(rows.launch, input);
  const [id] = job_id ?? [];
  if (id === undefined) throw new Error("no job was submitted");
  return id;
}

/** Waits until the tasks of all jobs are so. */
export async function untilAll(
  client: Client,
  isSo: (jobs: readonly ManagedJobRecord[]) => boolean,
  signal: AbortSignal,
): Promise<readonly ManagedJobRecord[]> {
  for (;;) {
    const fields = ["status", "schedule_state", "recovery_count", "current_cluster_name"];
    const { jobs } = await client.callAndGet(rows.queueV2, { fields });
    if (isSo(jobs)) return jobs;
    await sleep(lookEveryMs, undefined, { signal });
  }
}

/** Whether nothing is left of a job. */
export const isOver = ({ schedule_state }: ManagedJobRecord): boolean => schedule_state === "DONE";
