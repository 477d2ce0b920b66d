import type { Generated } from "kysely";
import type { ManagedJobStatus } from "../../contract/statuses.ts";

/** The columns of managed jobs. */
export interface JobTables {
  managed_jobs: {
    id: Generated<number>;
    request_id: string;
    rank: number;
    copies: number;
    name: string;
    execution: "serial" | "parallel" | null;
    root_id: number | null;
    root_number: number | null;
    parent_id: number | null;
    parent_number: number | null;
    user_id: string;
    user_name: string;
    workspace: string;
    command: string;
    priority: number;
    pool: string | null;
    submitted_at: number;
  };
  job_documents: { request_id: string; document: Uint8Array; blob_id: string | null };
  job_tasks: {
    id: string;
    job_id: number;
    number: number;
    name: string;
    is_primary: number;
    delay_ms: number;
    user_id: string;
    workspace: string;
    resources: string;
    pool_id: string | null;
    share: string | null;
    queued_at: Generated<number | null>;
    lease_ms: number | null;
    status: ManagedJobStatus;
    reason: string;
    waits_for: string | null;
    wanted: "DONE" | "CANCELLED";
    wanted_because: string;
    wanted_by: Generated<string | null>;
    attempt: number;
    cluster_id: string | null;
    cluster_name: string;
    cluster_job: number | null;
    next_cluster_id: string | null;
    infra: string | null;
    recoveries: number;
    restarts: number;
    failures: number;
    ran_ms: number;
    run_at: number | null;
    started_at: number | null;
    recovered_at: number | null;
    ended_at: number | null;
    settled_at: number | null;
    status_changed_at: number;
    queued_for: Generated<"job" | "launch" | "turn" | null>;
    queued_rank: Generated<number | null>;
    begun_at: Generated<number | null>;
    launching_at: Generated<number | null>;
    called_back: Generated<number | null>;
  };
  job_task_counts: {
    user_id: string;
    workspace: string;
    status: ManagedJobStatus;
    tasks: number;
    jobs: number;
  };
}
