import type { ClusterStatusRecord, HookRecord } from "../../contract/records/clusters.ts";
import type { ClusterStatus } from "../../contract/statuses.ts";
import { seconds, withoutNulls } from "./fields.ts";
import type { HandleRecord } from "./handles.ts";
import {
  type IdleView,
  idleRecord,
  type LifecycleView,
  lifecycleRecord,
} from "./lifecycle-record.ts";
import { encodedNull } from "./pickle.ts";

/** A cluster as the wire shows it. */
export interface ClusterView {
  readonly name: string;
  readonly hash: string;
  readonly status: Exclude<ClusterStatus, "GONE">;
  readonly statusChangedAt?: Date | null;
  /** Of one in INIT. */
  readonly init?: { readonly kind: "launching" | "unhealthy"; readonly reason: string } | null;
  readonly launchedAt: Date;
  readonly everUp: boolean;
  readonly nodes: number;
  /** Null is off. */
  readonly autostop: { readonly idleMinutes: number; readonly down: boolean } | null;
  readonly idle?: IdleView | undefined;
  /** The one that is under way. */
  readonly lifecycle?: LifecycleView | undefined;
  readonly hooks?: readonly HookRecord[];
  readonly userId: string;
  readonly userName: string;
  readonly workspace: string;
  /** Null where the caller did not ask for it. */
  readonly handle: HandleRecord | null;
  readonly isManaged?: boolean;
  readonly nameOnCloud?: string | null;
  readonly lastUse?: string | null;
  readonly lastEvent?: string | null;
  readonly creationYaml?: string | null;
  readonly creationCommand?: string | null;
  readonly resourcesText?: string | null;
  readonly resourcesFullText?: string | null;
  readonly credentials?: ClusterStatusRecord["credentials"];
  readonly cloud?: string | null;
  readonly region?: string | null;
  readonly cpus?: string | null;
  readonly memory?: string | null;
  readonly accelerators?: string | null;
  readonly labels?: Readonly<Record<string, string>>;
  readonly nodeNames?: readonly string[] | null;
}

/** The record of `/status`; what is not known is left out. */
export const clusterRecord = (cluster: ClusterView): ClusterStatusRecord => ({
  name: cluster.name,
  launched_at: seconds(cluster.launchedAt),
  handle: cluster.handle ?? encodedNull,
  last_use: cluster.lastUse ?? "",
  status: cluster.status,
  autostop: cluster.autostop?.idleMinutes ?? -1,
  to_down: cluster.autostop?.down ?? false,
  cluster_hash: cluster.hash,
  cluster_ever_up: cluster.everUp,
  init_kind: cluster.init?.kind ?? null,
  init_status_reason: cluster.init?.reason ?? null,
  status_updated_at: cluster.statusChangedAt ? seconds(cluster.statusChangedAt) : 0,
  user_hash: cluster.userId,
  user_name: cluster.userName,
  workspace: cluster.workspace,
  is_managed: cluster.isManaged ?? false,
  nodes: cluster.nodes,
  labels: { ...cluster.labels },
  storage_mounts_metadata: encodedNull,
  ...withoutNulls({
    idle: cluster.idle && idleRecord(cluster.idle),
    lifecycle: cluster.lifecycle && lifecycleRecord(cluster.lifecycle),
    hooks: cluster.hooks?.length ? [...cluster.hooks] : undefined,
    last_creation_yaml: cluster.creationYaml,
    last_creation_command: cluster.creationCommand,
    last_event: cluster.lastEvent,
    resources_str: cluster.resourcesText,
    resources_str_full: cluster.resourcesFullText,
    credentials: cluster.credentials,
    cloud: cluster.cloud,
    region: cluster.region,
    cpus: cluster.cpus,
    memory: cluster.memory,
    accelerators: cluster.accelerators,
    cluster_name_on_cloud: cluster.nameOnCloud,
    node_names: cluster.nodeNames?.join(","),
  }),
});
