import type { Generated } from "kysely";
import type { ManagedJobStatus } from "../../contract/statuses.ts";
import type { JobTask, ManagedJob } from "../jobs/schema.ts";
import type { ColumnsOf } from "./columns.ts";

/** The columns of managed jobs. */
export interface JobTables {
  managed_jobs: ColumnsOf<Omit<ManagedJob, "id" | "user" | "joined">> & {
    id: Generated<number>;
    request_id: string;
    user_id: string;
    user_name: string;
    root_id: number | null;
    root_number: number | null;
    parent_id: number | null;
    parent_number: number | null;
  };
  job_documents: { request_id: string; document: Uint8Array; blob_id: string | null };
  job_tasks: ColumnsOf<Omit<JobTask, "job">> & {
    job_id: number;
    job_name: string;
    user_id: string;
    workspace: string;
    wanted_by: Generated<string | null>;
  };
  job_task_counts: {
    user_id: string;
    workspace: string;
    status: ManagedJobStatus;
    tasks: number;
    jobs: number;
  };
}
