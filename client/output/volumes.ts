import * as z from "zod";
import type { VolumeRecord } from "../../contract/records/volumes.ts";
import { form, infraOf, instant, instantOf } from "./shapes.ts";

/** Where a volume is: `ssh/lab/a`; null where any machine reaches it. */
export const placeOf = ({ cloud, region, zone }: VolumeRecord): string | null =>
  infraOf(cloud, [region, zone].filter(Boolean).join("/"));

/** A volume, as `volumes ls` prints it. */
export const volumeForm = form(
  z.strictObject({
    name: z.string(),
    type: z.string(),
    infra: z.string().nullable(),
    status: z.string().nullable().describe("READY, IN_USE or NOT_READY."),
    problem: z.string().nullable().describe("Why it is not ready."),
    location: z.string().describe("Its folder, or its export."),
    clusters: z.array(z.string()).describe("Clusters that use it."),
    workspace: z.string(),
    owner: z.string(),
    created_at: instant.nullable(),
    attached_at: instant.nullable().describe("When it was attached last."),
  }),
  (row: VolumeRecord) => ({
    ...{ name: row.name, type: row.type, infra: placeOf(row), status: row.status },
    ...{ problem: row.error_message, location: row.name_on_cloud, clusters: row.usedby_clusters },
    ...{ workspace: row.workspace, owner: row.user_name },
    created_at: instantOf(row.launched_at),
    attached_at: instantOf(row.last_attached_at),
  }),
);
