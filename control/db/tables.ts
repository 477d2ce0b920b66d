import type { Generated } from "kysely";
import type { ClusterStatus, RequestStatus } from "../../contract/statuses.ts";

/** The columns of `migrations/`, as Kysely sees them. Instants are epoch milliseconds. */
export interface Tables {
  requests: {
    id: string;
    name: string;
    status: RequestStatus;
    queue: "long" | "short";
    user_id: string;
    user_name: string;
    cluster_name: string | null;
    client_api: number | null;
    input: Uint8Array | null;
    progress: string | null;
    status_note: string | null;
    return_value: string | null;
    error: string | null;
    created_at: number;
    finished_at: number | null;
  };
  clusters: {
    id: string;
    name: string;
    status: ClusterStatus;
    wanted: string;
    wanted_because: string;
    user_id: string;
    user_name: string;
    workspace: string;
    provider: string;
    nodes: number;
    offer: string;
    addresses: string;
    ports: string;
    labels: string;
    task_yaml: string;
    command: string;
    autostop: string | null;
    problem: string | null;
    ever_up: number;
    launched_at: number;
    status_changed_at: number;
  };
  usage_intervals: { cluster_id: string; started_at: number; ended_at: number | null };
  events: {
    seq: Generated<number>;
    noun: string;
    subject_id: string;
    from_status: string | null;
    to_status: string | null;
    reason: string;
    at: number;
  };
}
