import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { integer, text } from "../caps.ts";
import {
  GpuAvailabilityRow,
  KubernetesClusterRecord,
  KubernetesNodesInfo,
} from "../records/clouds.ts";
import { ManagedJobRecord } from "../records/jobs.ts";
import { body, optional } from "./fields.ts";

const context = optional(text).describe("Context; null is the current one.");

/** Kubernetes clusters that control can reach. */
export const kubernetesOperations = requestsOf("", {
  kubernetesGpuAvailability: {
    name: "realtime_kubernetes_gpu_availability",
    route: "POST /realtime_kubernetes_gpu_availability",
    summary: "Accelerators that are free in Kubernetes now.",
    access: "viewer",
    input: body("RealtimeGpuAvailabilityRequestBody", {
      context: optional(text).describe("Context; null is every allowed one."),
      name_filter: optional(text).describe("Pattern of the name, in any case."),
      quantity_filter: optional(integer).describe("Number that is needed."),
      is_ssh: optional(z.boolean()).describe("True: SSH node pools only; false: without them."),
    }),
    output: z.array(z.tuple([z.string(), z.array(GpuAvailabilityRow)])).describe("By context."),
    errors: ["ValueError"],
  },
  kubernetesNodeInfo: {
    route: "POST /kubernetes_node_info",
    summary: "Nodes of a Kubernetes cluster.",
    access: "viewer",
    input: body("KubernetesNodeInfoRequestBody", { context }),
    output: KubernetesNodesInfo,
  },
  kubernetesLabelGpus: {
    route: "POST /kubernetes_label_gpus",
    queue: "long",
    summary: "Label the nodes that have accelerators.",
    access: "admin",
    input: body("KubernetesLabelGpusBody", {
      context,
      cleanup_only: z
        .boolean()
        .default(false)
        .describe("Only remove what is left of earlier ones."),
      wait_for_completion: z.boolean().default(true),
    }),
    output: z.object({ success: z.boolean(), message: z.string().nullable() }),
  },
  statusKubernetes: {
    route: "GET /status_kubernetes",
    summary: "Everything of Outrigger in the current context, for all users. Experimental.",
    access: "admin",
    output: z
      .tuple([
        z.array(KubernetesClusterRecord),
        z.array(KubernetesClusterRecord),
        z.array(ManagedJobRecord),
        z.string().nullable(),
      ])
      .describe("All clusters, those that are not managed jobs, managed jobs, context."),
    errors: ["ValueError"],
  },
});
