import type { Generated } from "kysely";
import type { ManagedJobStatus } from "../../contract/statuses.ts";
import type { NewAudit } from "../audit/schema.ts";
import type { OfferKey, Refusal } from "../clouds/schema.ts";
import type { StoredLifecycle } from "../clusters/lifecycles/schema.ts";
import type { Cluster } from "../clusters/schema.ts";
import type { JobTask, ManagedJob } from "../jobs/schema.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { StoredRequest } from "../requests/schema.ts";
import type { StoredSecret } from "../secrets/schema.ts";
import type { Replica, Service, Version } from "../services/schema.ts";
import type { Session } from "../sessions/schema.ts";
import type { Host, HostNode, Leftover } from "../ssh-pools/schema.ts";
import type { Storage } from "../storage/schema.ts";
import type { Token } from "../tokens/schema.ts";
import type { Account } from "../users/schema.ts";
import type { Volume } from "../volumes/schema.ts";
import type { ColumnsOf } from "./columns.ts";

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
export interface Tables {
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
  refused_offers: ColumnsOf<Omit<Refusal, "offer">> &
    ColumnsOf<Omit<OfferKey, "region" | "zone" | "isSpot">> & {
      region: string;
      zone: string;
      is_spot: number;
    };
  lifecycles: ColumnsOf<Omit<StoredLifecycle, "skipsHooks">> & {
    skip_hooks: number;
    hook_until: number | null;
  };
  ssh_pools: { name: string; config: Uint8Array; updated_at: number };
  ssh_hosts: ColumnsOf<Omit<Host, "isDraining" | "isDirty">> & {
    is_draining: Generated<number>;
    is_dirty: Generated<number>;
  };
  ssh_nodes: ColumnsOf<Omit<HostNode, "host">> & { pool: string; host: string; machine: string };
  ssh_host_keys: { machine: string; kind: string; fingerprint: string; seen_at: number };
  ssh_leftovers: ColumnsOf<Omit<Leftover, "entry">> & { entry: Uint8Array };
  services: Owner & Wish & ColumnsOf<Omit<Service, "user" | "isPool">> & { pool: number };
  service_versions: ColumnsOf<Version> & { task: Uint8Array };
  replicas: Wish & ColumnsOf<Omit<Replica, "isUnplaced">> & { unplaced: number };
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
  storages: Owner & ColumnsOf<Omit<Storage, "user">> & { cluster_id: string | null };
  volumes: Owner & ColumnsOf<Omit<Volume, "user" | "yaml">> & { creation_yaml: string | null };
  volume_uses: { volume_id: string; cluster_id: string };
  users: ColumnsOf<Omit<Account, "hasPassword">> & { password: string | null };
  local_preference: { id: 1; workspace: string };
  tokens: ColumnsOf<Token> & { digest: Uint8Array };
  recipes: ColumnsOf<Omit<Recipe, "type" | "isPinned" | "content" | "user" | "updatedBy">> & {
    recipe_type: string;
    pinned: number;
    user_id: string;
    user_name: string | null;
    updated_by_id: string | null;
    updated_by_name: string | null;
  };
  recipe_versions: { name: string; version: number; content: string };
  sessions: ColumnsOf<Omit<Session, "digest">> & { digest: Uint8Array };
  approvals: { challenge: string; user_id: string; method: string; expires_at: number };
  configurations: {
    version: number;
    document: Uint8Array;
    user_id: string;
    user_name: string;
    created_at: number;
  };
  audit: ColumnsOf<NewAudit> & { seq: Generated<number>; hash: Uint8Array };
  secrets: ColumnsOf<StoredSecret> & { value: Uint8Array };
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
