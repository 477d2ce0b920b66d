import * as z from "zod";
import { List } from "./setting-shapes.ts";

const Seconds = z.coerce.number().min(1).max(86_400);

/** Settings of the Kubernetes clusters that control uses. */
export const kubernetesSettings = {
  kubeconfig: z
    .string()
    .optional()
    .describe(
      "Kubeconfig of the Kubernetes clusters to use; by default `KUBECONFIG`, then `~/.kube/config`, then the service account of the pod that control runs in.",
    ),
  kubernetesContexts: List.default([]).describe(
    "Contexts of it that may be used, separated by commas, or `all`. Empty: the current one.",
  ),
  kubernetesImage: z
    .string()
    .default("docker.io/library/python:3.12-bookworm")
    .describe(
      "Image of pods whose task names none. It needs `sh`, `tar` and `gzip`; jobs need `bash`.",
    ),
  kubernetesRuntimeImage: z
    .string()
    .optional()
    .describe(
      "Image with Node.js 24, such as `node:24-slim` or that of control, from which pods take Node.js when they begin. Without it, control sends Node.js to pods whose image has none.",
    ),
  kubernetesProvisionSeconds: z.coerce
    .number()
    .min(-1)
    .max(86_400)
    .default(10)
    .describe(
      "How long a pod may be unschedulable before the launch tries another offer; -1 waits forever. A task overrides it in `config.kubernetes.provision_timeout`.",
    ),
  kubernetesPorts: z
    .string()
    .regex(
      /^(forward|loadbalancer|https?:\/\/\*(\.[a-z\d]([a-z\d-]*[a-z\d])?)+(:\d{1,5})?)$/,
      "write forward, loadbalancer, or the URL of an Ingress whose host begins with *: https://*.example.com",
    )
    .default("forward")
    .describe(
      "How the ports of clusters are reached: `forward` through control; `loadbalancer`, by a Service of that type for each cluster with ports; or by an Ingress for each of them, with the URL that all hosts of its controller have, such as `https://*.example.com`.",
    ),
  kubernetesIngressClass: z
    .string()
    .optional()
    .describe("Class of these Ingresses. Without it, the default class of the Kubernetes cluster."),
  kubernetesGraceSeconds: Seconds.default(600).describe(
    "Maximum termination grace period of a pod; it is otherwise 15 s more than its preemption hooks may take.",
  ),
};
