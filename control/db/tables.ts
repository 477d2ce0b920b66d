import type { Generated } from "kysely";
import type { Lifecycle } from "../../contract/lifecycle-shapes.ts";
import type { UpdateMode } from "../../contract/records/services.ts";
import type { UserKind } from "../../contract/records/users.ts";
import type { Role } from "../../contract/roles.ts";
import type {
  ClusterStatus,
  LifecycleStatus,
  ReplicaStatus,
  RequestStatus,
  ServiceStatus,
} from "../../contract/statuses.ts";
import type { JobTables } from "./job-tables.ts";
import type { KeptTables } from "./kept-tables.ts";

/** The columns of `migrations/`, as Kysely sees them. Instants are epoch milliseconds. */
export interface Tables extends JobTables, KeptTables {
  lease: { id: number; epoch: number };
  attempts: {
    noun: string;
    subject_id: string;
    failures: number;
    reason: string;
    failed_at: number;
    due_at: number;
  };
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
    runs: Generated<number>;
    workspace: Generated<string>;
    credential: Generated<string>;
  };
  clusters: {
    id: string;
    name: string;
    status: ClusterStatus;
    wanted: string;
    wanted_because: string;
    wanted_by: Generated<string | null>;
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
    hooks: Uint8Array | null;
    hooks_version: string | null;
    skip_hooks: Generated<number>;
    made_for: Generated<string | null>;
    parcels: Generated<Uint8Array | null>;
    machine: Generated<string | null>;
    placement: Generated<string | null>;
  };
  refused_offers: {
    provider: string;
    infra: string;
    region: string;
    zone: string;
    instance_type: string;
    is_spot: number;
    nodes: number;
    kind: string;
    reason: string;
    at: number;
    until: number;
  };
  lifecycles: {
    id: string;
    cluster_id: string;
    rank: number;
    revision: number;
    events: string;
    cause: Lifecycle["cause"];
    because: string;
    status: LifecycleStatus;
    skip_hooks: number;
    hooks: number;
    runs: string;
    deadline_at: number | null;
    started_at: number;
    ended_at: number | null;
    hook_until: number | null;
  };
  ssh_pools: { name: string; config: Uint8Array; updated_at: number };
  ssh_hosts: {
    pool: string;
    name: string;
    machine: string | null;
    facts: string | null;
    problem: string | null;
    is_draining: Generated<number>;
    is_dirty: Generated<number>;
    looked_at: number | null;
    deployed_at: number | null;
  };
  ssh_nodes: {
    cluster_id: string;
    rank: number;
    cluster_name: string;
    pool: string;
    host: string;
    machine: string;
    state: "claimed" | "running" | "stopped";
  };
  ssh_host_keys: { machine: string; kind: string; fingerprint: string; seen_at: number };
  ssh_leftovers: {
    id: string;
    pool: string;
    name: string;
    machine: string;
    entry: Uint8Array;
    facts: string;
    problem: string | null;
    left_at: number;
    tried_at: number;
  };
  services: {
    id: string;
    name: string;
    pool: number;
    status: ServiceStatus;
    reason: string;
    wanted: "UP" | "GONE";
    wanted_because: string;
    wanted_by: Generated<string | null>;
    user_id: string;
    user_name: string;
    workspace: string;
    host: string;
    port: number;
    version: number;
    scaling: string;
    problem: string | null;
    ready_at: number | null;
    created_at: number;
    status_changed_at: number;
  };
  service_versions: {
    service_id: string;
    version: number;
    task: Uint8Array;
    command: string;
    mode: UpdateMode;
    because: string;
    created_at: number;
    ready_at: number | null;
    given_up: string | null;
  };
  replicas: {
    id: string;
    service_id: string;
    number: number;
    version: number;
    status: ReplicaStatus;
    reason: string;
    wanted: "UP" | "GONE";
    wanted_because: string;
    wanted_by: Generated<string | null>;
    is_spot: number;
    accelerators: string | null;
    cluster_id: string | null;
    cluster_name: string;
    job_id: number | null;
    unplaced: number;
    host: string | null;
    port: number | null;
    server_port: number | null;
    listen_port: number | null;
    run_at: number | null;
    ready_at: number | null;
    drain_until: number | null;
    created_at: number;
    status_changed_at: number;
    ended_at: number | null;
  };
  users: {
    id: string;
    name: string;
    kind: UserKind;
    role: Role;
    has_group_role: Generated<number>;
    password: string | null;
    groups: Generated<string>;
    preferred_workspace: string | null;
    created_at: number;
  };
  local_preference: { id: 1; workspace: string };
  tokens: {
    id: string;
    name: string;
    digest: Uint8Array;
    user_id: string;
    creator_id: string;
    creator_name: string;
    created_at: number;
    expires_at: number | null;
    last_used_at: number | null;
  };
  recipes: {
    name: string;
    recipe_type: string;
    description: string | null;
    pinned: number;
    version: number;
    user_id: string;
    user_name: string | null;
    created_at: number;
    updated_at: number;
    updated_by_id: string | null;
    updated_by_name: string | null;
  };
  recipe_versions: { name: string; version: number; content: string };
  sessions: {
    digest: Uint8Array;
    user_id: string;
    method: string;
    created_at: number;
    expires_at: number;
  };
  approvals: { challenge: string; user_id: string; method: string; expires_at: number };
  configurations: {
    version: number;
    document: Uint8Array;
    user_id: string;
    user_name: string;
    created_at: number;
  };
  audit: {
    seq: Generated<number>;
    at: number;
    user_id: string;
    user_name: string;
    credential: string;
    address: string;
    operation: string;
    subject: string | null;
    outcome: "allowed" | "refused";
    reason: string | null;
    request_id: string | null;
    hash: Uint8Array;
  };
  secrets: {
    scope: string;
    owner: string;
    name: string;
    value: Uint8Array;
    user_name: string;
    updated_at: number;
  };
  audit_dropped: { id: number; seq: number; hash: Uint8Array };
  usage_intervals: { cluster_id: string; started_at: number; ended_at: number | null };
  events: {
    seq: Generated<number>;
    noun: string;
    subject_id: string;
    from_status: string | null;
    to_status: string | null;
    reason: string;
    is_noteworthy: Generated<number>;
    at: number;
    actor: Generated<string | null>;
  };
}
