import { type ManagedJobEvent, ManagedJobRecord } from "../../contract/records/jobs.ts";
import type { Ending } from "./fake-control.ts";

/** The record of a managed job that runs. */
export const aJob = (more: Partial<ManagedJobRecord> = {}): ManagedJobRecord => ({
  ...(Object.fromEntries(
    Object.keys(ManagedJobRecord.shape).map((name) => [name, null]),
  ) as ManagedJobRecord),
  ...{ job_id: 3, task_id: 0, job_name: "train", status: "RUNNING", user_name: "ann" },
  ...{ resources: "H100:8", recovery_count: 1, job_duration: 90, start_at: 1, infra: "ssh/lab" },
  ...{ workspace: "default", submitted_at: 1_700_000_000 },
  ...more,
});

/** It lost its machine. */
export const anEvent: ManagedJobEvent = {
  ...{ spot_job_id: 3, task_id: 0, new_status: "RECOVERING", code: null },
  ...{ reason: "its machine is gone", timestamp: "2026-11-20T20:16:03.000Z" },
};

/** One page of sixty jobs. */
export const page = (...jobs: ManagedJobRecord[]): Ending => ({
  result: { jobs, total: 60, total_no_filter: 60, status_counts: {}, infra_options: [] },
});
