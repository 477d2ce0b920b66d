import type { ClusterJobRecord } from "../../contract/records/clusters.ts";
import type { JobStatus } from "../../contract/statuses.ts";
import { preciseSeconds } from "./fields.ts";

/** A job on a cluster as the wire shows it. */
export interface JobView {
  readonly id: number;
  readonly name: string | null;
  readonly status: JobStatus;
  readonly userId: string;
  readonly userName: string;
  readonly submittedAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** Such as `1x[CPU:1]`. */
  readonly resourcesText: string;
  /** The folder of its logs on the cluster. */
  readonly logPath: string;
  /** Why it ended so, where the status does not say. */
  readonly reason: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The record of `/queue`; a job without a name is shown as "-". */
export const jobRecord = (job: JobView): ClusterJobRecord => ({
  job_id: job.id,
  job_name: job.name ?? "-",
  username: job.userName,
  user_hash: job.userId,
  submitted_at: preciseSeconds(job.submittedAt),
  start_at: job.startedAt && preciseSeconds(job.startedAt),
  end_at: job.endedAt && preciseSeconds(job.endedAt),
  resources: job.resourcesText,
  status: job.status,
  log_path: job.logPath,
  links: {},
  metadata: { ...job.metadata, ...(job.reason !== null && { reason: job.reason }) },
});
