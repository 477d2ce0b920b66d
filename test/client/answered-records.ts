import { createHash } from "node:crypto";
import type {
  ClusterJobRecord,
  ClusterStatusRecord,
  CostReportRecord,
} from "../../contract/records/clusters.ts";
import type { RecipeRecord } from "../../contract/records/recipes.ts";
import { type Handler, sendJson } from "./fake-control.ts";

export const since = 1_700_000_000;
export const instant = "2023-11-14T22:13:20.000Z";

const common = {
  ...{ cluster_hash: "h1", user_hash: "u1", user_name: "ana", workspace: "default" },
  ...{ cloud: "Local", region: "here", resources_str: "1x[CPU:2]", node_names: null },
};

export const dev: ClusterStatusRecord = {
  ...common,
  ...{ name: "dev", status: "UP", launched_at: since, handle: null, last_use: null },
  ...{ autostop: 30, to_down: false, cluster_ever_up: true, status_updated_at: since },
  idle: { since: null, stops_at: null, kept_alive_by: ["job 1"] },
  lifecycle: {
    ...{ id: "l1", action: "stop", cause: "user", because: "stop by ann", phase: "HOOKS", node: 0 },
    ...{ started_at: since, deadline_at: null, hooks_run: [] },
    hook: { index: 0, of: 1, started_at: since, timeout: 60 },
  },
  hooks: [{ events: ["stop"], timeout: 60, run: "save" }],
  ...{ is_managed: false, nodes: 1, labels: null, storage_mounts_metadata: null },
};

export const job: ClusterJobRecord = {
  ...{ job_id: 1, job_name: "train", username: "ana", user_hash: "u1", resources: "1x[CPU:2]" },
  ...{ submitted_at: since, start_at: since, end_at: null, status: "RUNNING" },
  ...{ log_path: "~/x", links: {}, metadata: {} },
};

export const cost: CostReportRecord = {
  ...common,
  ...{ name: "dev", launched_at: since, duration: 60, num_nodes: 1, resources: null },
  ...{ priority: null, priority_class: null, status: null, last_event: null, total_cost: 0.25 },
  resources_str_full: "",
  labels: { team: "vision" },
};

export const sending =
  (value: unknown): Handler =>
  (_seen, res) =>
    sendJson(res, 200, value);

export const pool = {
  ...{ pool_name: "lab", context_name: "ssh-lab", status: "Ready", reason: "a: free" },
  hosts: [{ name: "a", status: "Ready", reason: "free" }],
};
export const health = { status: "healthy", api_version: "60", version: "1.0.0", commit: "abc" };
export const request = {
  request_id: "r-1",
  name: "sky.launch",
  status: "RUNNING",
  created_at: since,
};
export const recipe: RecipeRecord = {
  ...{ name: "sweep", description: null, content: "run: x\n", recipe_type: "job", version: 2 },
  ...{ pinned: false, user_id: "u1", user_name: "ana", created_at: since, updated_at: since },
  ...{ updated_by_id: null, updated_by_name: null, is_editable: true, is_pinnable: true },
};
export const explanation = {
  ...{ noun: "cluster", name: "dev", id: "c1", status: "INIT", wanted: "UP", because: null },
  ...{ since, doing: ["waits for capacity"] },
  attempt: { failures: 1, reason: "no capacity", failed_at: since, next_at: since },
};
export const use = {
  ...{ workspace: "default", limits: { clusters: 4 }, spent: null },
  use: { clusters: 1, accelerators: 8, dollars_per_day: 0.5, dollars_per_month: 2 },
};
export const orphan = { id: "o1", name: null, provider: "local", nodes: 1, jobs: null };

export const aToken = {
  ...{ token_id: "t1", token_name: "ci", created_at: 0, last_used_at: null, expires_at: 86_400 },
  ...{ creator_user_hash: "u1", creator_name: "ana", service_account_user_id: "sa-1" },
  ...{ service_account_name: "ci", service_account_roles: ["user"] },
};

export const aVolume = {
  ...{ name: "data", type: "folder", launched_at: 0, cloud: "ssh", region: "lab", zone: "a" },
  ...{ size: null, config: {}, name_on_cloud: "/srv/data", user_hash: "u1", user_name: "ana" },
  ...{ workspace: "default", last_attached_at: null, last_use: null, status: "IN_USE" },
  ...{ usedby_pods: [], usedby_clusters: ["dev"], is_ephemeral: false },
  ...{ usedby_fetch_failed: false, error_message: null, error_may_resolve: false },
  ...{ resize_status: null, resize_target_size: null, resize_message: null, creation_yaml: null },
};

export const aSecret = {
  ...{ token_id: "t1", token_name: "ci", token: "sky_outrigger_x", expires_at: null },
  ...{ service_account_user_id: "sa-1", message: "keep it" },
};
export const entry = {
  ...{ seq: 7, at: since, user_id: "u1", user_name: "ana", credential: "token ci" },
  ...{ address: "10.0.0.1", operation: "stop", subject: "cluster dev", outcome: "allowed" },
  ...{ reason: null, request_id: "r-1", hash: "00ff" },
};
export const verdict = {
  entries: 7,
  next: null,
  last_hash: "00ff",
  has_expected: false,
  broken: null,
};

const sha256 = createHash("sha256").update("1").digest("hex");
export const file = { kind: "file", path: "", size: 1, mode: 0o644, sha256 };
