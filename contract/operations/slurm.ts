import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { integer, text } from "../caps.ts";
import { GpuAvailabilityRow, SlurmNodeInfo } from "../records/clouds.ts";
import { body, optional } from "./fields.ts";

const nodeInfo = body("SlurmNodeInfoRequestBody", {
  slurm_cluster_name: optional(text).describe("Null is the first allowed one."),
});

/** Slurm clusters that control can reach. */
export const slurmOperations = requestsOf("", {
  slurmGpuAvailability: {
    name: "realtime_slurm_gpu_availability",
    route: "POST /slurm_gpu_availability",
    summary: "Accelerators that are free in Slurm now.",
    access: "viewer",
    input: body("SlurmGpuAvailabilityRequestBody", {
      slurm_cluster_name: optional(text).describe("Null is every allowed one."),
      name_filter: optional(text).describe("Pattern of the name."),
      quantity_filter: optional(integer).describe("Number that is needed."),
    }),
    output: z
      .array(z.tuple([z.string(), z.array(GpuAvailabilityRow), z.string().nullable()]))
      .describe("Cluster, its rows, what went wrong."),
  },
  slurmNodeInfo: {
    route: "POST /slurm_node_info",
    summary: "Nodes of a Slurm cluster.",
    access: "viewer",
    input: nodeInfo,
    output: z.array(SlurmNodeInfo),
  },
  slurmNodeInfoByGet: {
    requestName: "slurm_node_info",
    route: "GET /slurm_node_info",
    summary: "As the POST one, for old clients; needs the body too.",
    access: "viewer",
    input: nodeInfo,
    output: z.array(SlurmNodeInfo),
  },
});
