import * as z from "zod";
import { caps, listOf, settings, text } from "../caps.ts";
import { Seconds } from "./clusters.ts";
import { record } from "./record.ts";

/** The clouds that a configuration may have a block for. */
export const cloudNames = [
  ...["local", "ssh", "slurm", "kubernetes", "aws", "gcp", "azure", "oci", "nebius", "lambda"],
  ...["runpod", "vast", "fluidstack", "cudo", "paperspace", "ibm", "scp", "vsphere", "do"],
  ...["hyperbolic", "primeintellect", "seeweb", "shadeform", "yotta"],
] as const;

const count = z.int().min(0).max(caps.integer).optional();
const dollars = z.number().min(0).max(caps.integer).optional();

/** The most that a workspace may use. */
export const WorkspaceLimits = z
  .strictObject({
    clusters: count.describe("Clusters that are not stopped, those of services included."),
    accelerators: count.describe("Accelerators of these clusters, over all nodes."),
    dollars_per_day: dollars.describe("What its clusters cost in a UTC day."),
    dollars_per_month: dollars.describe("What its clusters cost in a UTC month."),
    idle_minutes: count.describe("Idle minutes after which clusters stop, at most."),
  })
  .meta({ id: "WorkspaceLimits" });
export type WorkspaceLimits = z.output<typeof WorkspaceLimits>;
export type LimitName = keyof WorkspaceLimits;

/** What a configuration says about launches, for a workspace or for all of them. */
const rules = {
  allowed_infra: listOf(text)
    .optional()
    .describe("Where launches may go: `local`, `ssh/lab`; anywhere if absent."),
  resources: settings.optional().describe("Resources for tasks that do not set them."),
  limits: WorkspaceLimits.optional(),
};

const places = z.union([z.literal("all"), listOf(text)]).optional();
const some = settings.optional();
const cloud = {
  disabled: z.boolean().optional().describe("Whether launches there are refused."),
  capabilities: listOf(text).optional(),
};
/** What only the block of one cloud has. */
const own: Readonly<Record<string, z.ZodRawShape>> = {
  ssh: { allowed_node_pools: places },
  kubernetes: {
    allowed_contexts: places,
    kueue: z.record(text, text).optional().describe("`local_queue_name` for tasks without one."),
    set_pod_resource_limits: z
      .union([z.boolean(), z.number().min(1).max(caps.integer)])
      .optional()
      .describe("Whether pods have limits, or how many times what they request."),
    context_configs: some,
  },
  aws: { profile: text.optional() },
  gcp: { project_id: text.optional() },
  nebius: Object.fromEntries(
    ["credentials_file_path", "tenant_id", "domain"].map((name) => [name, text.optional()]),
  ),
};

/** The part of a cloud's block that has an effect. */
interface CloudBlock {
  readonly disabled?: boolean | undefined;
  readonly allowed_node_pools?: "all" | string[] | undefined;
  readonly allowed_contexts?: "all" | string[] | undefined;
  readonly kueue?: Record<string, string> | undefined;
  readonly set_pod_resource_limits?: boolean | number | undefined;
}
type CloudBlocks = Partial<Record<(typeof cloudNames)[number], CloudBlock>>;

const blocksOf = (shapeOf: (shape: z.ZodRawShape) => z.ZodType): Record<string, z.ZodType> =>
  Object.fromEntries(
    cloudNames.map((name) => [name, shapeOf({ ...cloud, ...own[name] }).optional()]),
  );

/** A workspace: who may use it, what holds for its launches, then a block for each cloud. */
export const WorkspaceConfig = z
  .strictObject({
    private: z.boolean().optional().describe("Only for allowed_users, allowed_groups and admins."),
    allowed_users: listOf(text).optional().describe("Names or ids."),
    allowed_groups: listOf(text).optional().describe("Groups of the identity provider."),
    ...rules,
    ...blocksOf(z.strictObject),
  })
  .meta({ id: "WorkspaceConfig" });

/** What holds for launches. */
export interface LaunchRules extends CloudBlocks {
  readonly allowed_infra?: string[] | undefined;
  readonly resources?: Record<string, unknown> | undefined;
  readonly limits?: WorkspaceLimits | undefined;
}

export interface WorkspaceConfig extends LaunchRules {
  readonly private?: boolean | undefined;
  readonly allowed_users?: string[] | undefined;
  readonly allowed_groups?: string[] | undefined;
}

/** Settings that existing clients know and that have no effect here. */
const idle = ["jobs", "serve", "docker", "nvidia_gpus", "provision", "logs", "data", "daemons"];

/** The configuration of control: rules for every workspace, and the workspaces. */
export const Configuration = z
  .strictObject({
    workspaces: z.record(text, WorkspaceConfig).optional(),
    ...rules,
    allowed_clouds: listOf(text).optional().describe("The same as allowed_infra."),
    ...Object.fromEntries(idle.map((name) => [name, some])),
    ...blocksOf(z.looseObject),
  })
  .meta({ id: "Configuration" });

export interface Configuration extends LaunchRules {
  readonly workspaces?: Record<string, WorkspaceConfig> | undefined;
  readonly allowed_clouds?: string[] | undefined;
}

/** A version of the configuration of control. */
export const ConfigurationVersion = record("ConfigurationVersion", {
  version: z.int(),
  user_id: z.string(),
  user_name: z.string().describe("The user who wrote it."),
  created_at: Seconds,
});

/** What a workspace uses, and the most that it may use. */
export const WorkspaceUse = record("WorkspaceUse", {
  workspace: z.string(),
  limits: WorkspaceLimits,
  use: z.object({
    clusters: z.int(),
    accelerators: z.int(),
    dollars_per_day: z.number().describe("Spent in this UTC day."),
    dollars_per_month: z.number().describe("Spent in this UTC month."),
  }),
  spent: z.string().nullable().describe("Which limit on spending is reached; null if none is."),
});
export type WorkspaceUse = z.output<typeof WorkspaceUse>;
