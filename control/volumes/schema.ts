import { basename } from "node:path";
import type { VolumeRecord } from "../../contract/records/volumes.ts";
import type { VolumeDocument } from "../../contract/volume.ts";
import { seconds } from "../wire/fields.ts";

/** A volume that tasks attach. Instants are epoch milliseconds. */
export interface Volume {
  readonly name: string;
  readonly id: string;
  readonly workspace: string;
  readonly user: { readonly id: string; readonly name: string };
  readonly document: VolumeDocument;
  /** As the user wrote it. */
  readonly yaml: string | null;
  /** The folder on its machine; null where it is none, or is not made yet. */
  readonly path: string | null;
  /** Why it cannot be attached. */
  readonly problem: string | null;
  readonly createdAt: number;
  readonly lastAttachedAt: number | null;
  /** The command line that attached it last. */
  readonly lastUse: string | null;
}

/** Where the folders of volumes are: a machine, or a Kubernetes cluster. Paths may begin with `~`. */
export interface Place {
  /** Has an empty folder there, unless `isExisting`: then one that is there. Its whole path. */
  take(path: string, isExisting: boolean): Promise<string>;
  /** Why what should be at a path cannot be used; null where it can. */
  problem(path: string): Promise<string | null>;
  remove(path: string): Promise<void>;
}

/** A volume as the wire has it; `clusters` use it. */
export function toRecord(volume: Volume, clusters: readonly string[]): VolumeRecord {
  const { name, workspace, user, document, path, problem, lastAttachedAt } = volume;
  const [cloud = "", region = null, zone = null] = partsOf(document);
  const { type, size = null, config } = document;
  return {
    ...{ name, type, workspace, cloud, region, zone, size },
    launched_at: seconds(volume.createdAt),
    config: { ...config, ...(type === "folder" && path !== null && { host_path: path }) },
    name_on_cloud: nameThere(volume),
    ...{ user_hash: user.id, user_name: user.name },
    last_attached_at: seconds(lastAttachedAt),
    last_use: volume.lastUse,
    status: statusOf(problem, clusters),
    ...{ usedby_pods: [], usedby_clusters: [...clusters], usedby_fetch_failed: false },
    is_ephemeral: false,
    ...{ error_message: problem, error_may_resolve: problem !== null },
    ...{ resize_status: null, resize_target_size: null, resize_message: null },
    creation_yaml: volume.yaml,
  };
}

/** A context may have slashes in its name. */
const partsOf = ({ type, infra = "" }: Volume["document"]): string[] =>
  type === "k8s-pvc" ? infra.split(/\/(.*)/, 2) : infra.split("/");

function nameThere({ path, document: { type, config } }: Volume): string {
  if (type === "nfs") return `${config.server}:${config.path}`;
  return type === "k8s-pvc" ? basename(path ?? "") : (path ?? "");
}

function statusOf(problem: string | null, clusters: readonly string[]): string {
  if (problem !== null) return "NOT_READY";
  return clusters.length > 0 ? "IN_USE" : "READY";
}
