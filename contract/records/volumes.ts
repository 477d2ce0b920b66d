import * as z from "zod";
import { stores } from "../task/storage-uri.ts";
import { Seconds } from "./clusters.ts";

/** A volume. */
export const VolumeRecord = z
  .object({
    name: z.string(),
    type: z.string(),
    launched_at: Seconds,
    cloud: z.string(),
    region: z.string().nullable(),
    zone: z.string().nullable(),
    size: z.string().nullable(),
    config: z.record(z.string(), z.unknown()),
    name_on_cloud: z.string(),
    user_hash: z.string(),
    user_name: z.string(),
    workspace: z.string(),
    last_attached_at: Seconds.nullable(),
    last_use: z.string().nullable(),
    status: z.string().nullable().describe("READY, IN_USE, NOT_READY, or empty."),
    usedby_pods: z.array(z.string()),
    usedby_clusters: z.array(z.string()),
    is_ephemeral: z.boolean().describe("Lives and dies with a cluster."),
    usedby_fetch_failed: z.boolean(),
    error_message: z.string().nullable(),
    error_may_resolve: z.boolean(),
    resize_status: z.enum(["in_progress", "pending_on_node", "failed"]).nullable(),
    resize_target_size: z.string().nullable(),
    resize_message: z.string().nullable(),
    creation_yaml: z.string().nullable().describe("As the user wrote it."),
  })
  .meta({ id: "VolumeRecord" });
export type VolumeRecord = z.output<typeof VolumeRecord>;

/** A storage: buckets that belong together. */
export const StorageRecord = z
  .object({
    name: z.string(),
    launched_at: Seconds,
    store: z.array(z.enum(stores)).describe("Where its buckets are."),
    last_use: z.string(),
    status: z.enum(["INIT", "INIT_FAILED", "UPLOAD_FAILED", "READY"]),
  })
  .meta({ id: "StorageRecord" });
export type StorageRecord = z.output<typeof StorageRecord>;
