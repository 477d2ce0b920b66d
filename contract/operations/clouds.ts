import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { integer, listOf, text } from "../caps.ts";
import { CloudCapability, InstanceTypeRow } from "../records/clouds.ts";
import { body, optional, query, queryBoolean } from "./fields.ts";
import { kubernetesOperations } from "./kubernetes.ts";
import { slurmOperations } from "./slurm.ts";

const expand = queryBoolean(false).describe("Contexts and pools instead of just their cloud.");
const catalogFilter = {
  gpus_only: z.boolean().default(true).describe("Leave out other accelerators."),
  name_filter: optional(text).describe("Regular expression, anywhere in the name."),
  region_filter: optional(text).describe("Regular expression, anywhere in the region."),
  quantity_filter: optional(integer).describe("Number of accelerators."),
  clouds: optional(z.union([text, listOf(text)])).describe("Null is all."),
};

const ownOperations = requestsOf("", {
  check: {
    route: "POST /check",
    reads: true,
    summary: "Probe clouds and remember which can be used.",
    access: "viewer",
    input: body("CheckBody", {
      clouds: optional(listOf(text)).describe("Null is every allowed one."),
      verbose: z.boolean().default(false).describe("More detail in the request's log."),
      workspace: optional(text).describe("Null is every workspace of the caller."),
    }),
    output: z
      .record(z.string(), z.record(z.string(), z.array(CloudCapability)))
      .describe("Workspace, cloud, what it can do."),
    errors: ["PermissionDeniedError", "ValueError"],
  },
  enabledClouds: {
    route: "GET /enabled_clouds",
    reads: true,
    summary: "Clouds that a workspace can use.",
    access: "viewer",
    input: query({
      workspace: optional(text).describe("Null is the active one."),
      expand,
    }),
    output: z
      .array(z.string())
      .describe(
        "Always in this order: local, ssh, kubernetes, slurm; their places: pools by name, the current context before others in the order of the kubeconfig, sites as set.",
      ),
    errors: ["PermissionDeniedError"],
  },
  enabledCloudsBatch: {
    route: "GET /enabled_clouds/batch",
    summary: "Clouds that several workspaces can use.",
    access: "viewer",
    input: query({
      workspaces: text.default("").describe("Names, separated by commas."),
      expand,
    }),
    output: z.record(z.string(), z.array(z.string())).describe("By workspace."),
  },
  listAccelerators: {
    route: "POST /list_accelerators",
    reads: true,
    summary: "Machine types with accelerators, from the catalogs.",
    access: "viewer",
    input: body("ListAcceleratorsBody", {
      ...catalogFilter,
      all_regions: z
        .boolean()
        .default(false)
        .describe("One row per region, not just the cheapest."),
      require_price: z.boolean().default(true).describe("Only rows with a price."),
      case_sensitive: z.boolean().default(true).describe("Match names with case."),
    }),
    output: z.record(z.string(), z.array(InstanceTypeRow)).describe("By accelerator."),
  },
  listAcceleratorCounts: {
    route: "POST /list_accelerator_counts",
    reads: true,
    summary: "How many of each accelerator one machine can have.",
    access: "viewer",
    input: body("ListAcceleratorCountsBody", catalogFilter),
    output: z.record(z.string(), z.array(z.number())).describe("By accelerator, ascending."),
  },
  allContexts: {
    route: "GET /all_contexts",
    summary: "Kubernetes contexts, those of SSH node pools included.",
    access: "viewer",
    output: z.array(z.string()),
  },
});

/** Available infrastructure: clouds, their catalogs, Kubernetes and Slurm. */
export const cloudOperations = { ...ownOperations, ...kubernetesOperations, ...slurmOperations };
