import type { Generated } from "kysely";
import type { StoredLifecycle } from "../clusters/lifecycles/schema.ts";
import type { Cluster } from "../clusters/schema.ts";
import type { StoredRequest } from "../requests/schema.ts";
import type { Replica, Service, Version } from "../services/schema.ts";
import type { Token } from "../tokens/schema.ts";
import type { Account } from "../users/schema.ts";
import type { ColumnsOf } from "./columns.ts";
import type { JobTables } from "./job-tables.ts";
import type { KeptTables } from "./kept-tables.ts";

/** Whose a row is. */
interface Owner {
  user_id: string;
  user_name: string;
}

/** Who wants what a row says. */
interface Wish {
  wanted_by: Generated<string | null>;
}

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
  requests: Owner &
    ColumnsOf<Omit<StoredRequest, "user" | "workspace">> & {
      workspace: Generated<string>;
      input: Uint8Array | null;
      progress: string | null;
      return_value: string | null;
      error: string | null;
      runs: Generated<number>;
      credential: Generated<string>;
    };
  clusters: Owner &
    Wish &
    ColumnsOf<Omit<Cluster, "user" | "wanted">> & {
      wanted: string;
      hooks: Uint8Array | null;
      parcels: Generated<Uint8Array | null>;
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
  lifecycles: ColumnsOf<Omit<StoredLifecycle, "skipsHooks">> & {
    skip_hooks: number;
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
  services: Owner & Wish & ColumnsOf<Omit<Service, "user" | "isPool">> & { pool: number };
  service_versions: ColumnsOf<Version> & { task: Uint8Array };
  replicas: Wish & ColumnsOf<Omit<Replica, "isUnplaced">> & { unplaced: number };
  users: ColumnsOf<Omit<Account, "hasPassword">> & { password: string | null };
  local_preference: { id: 1; workspace: string };
  tokens: ColumnsOf<Token> & { digest: Uint8Array };
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
