import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { caps, integer, listOf, longText, taskText, text } from "../caps.ts";
import { ClusterStatusRecord, Handle, LaunchResult } from "../records/clusters.ts";
import { clusterHistoryOperations } from "./cluster-history.ts";
import { clusterJobOperations } from "./cluster-jobs.ts";
import { body, cancelStop, flag, Nothing, optional, queryInteger, taskErrors } from "./fields.ts";

const clusterName = text.describe("Target cluster.");
const internal = flag.describe("Accepted and ignored.");
const waitFor = optional(z.enum(["jobs_and_ssh", "jobs", "none"])).describe(
  "What counts as activity; null is jobs_and_ssh.",
);
const stopOrDown = body("StopOrDownBody", {
  cluster_name: clusterName,
  purge: flag.describe("Change the record even when the cloud call fails."),
  graceful: flag.describe("Cancel jobs first and wait for uploads to flush."),
  graceful_timeout: optional(integer).describe("Seconds for the graceful part."),
  skip_hooks: flag.describe("End the running hook and skip the others."),
});

const ownOperations = requestsOf("", {
  launch: {
    route: "POST /launch",
    queue: "long",
    summary: "Create a cluster, or reuse it, and run a task on it.",
    access: "user",
    about: { newCluster: "cluster_name" },
    input: body("LaunchBody", {
      task: taskText.describe("One task as YAML text."),
      cluster_name: text.describe("Cluster to create or reuse."),
      retry_until_up: flag.describe("Keep trying until there is capacity."),
      idle_minutes_to_autostop: optional(integer).describe("Overrides the task's autostop."),
      dryrun: flag.describe("Plan only."),
      down: flag.describe("Overrides the task: tear down instead of stopping when idle."),
      backend: optional(text).describe("Null is the usual one."),
      optimize_target: z.literal([0, 1]).default(0).describe("0 cost, 1 time."),
      no_setup: flag.describe("Skip the setup script."),
      clone_disk_from: optional(text).describe("Start from the disk of this cluster."),
      cancel_stop: cancelStop,
      include_credentials: flag.describe("Accepted and ignored; `/status` has credentials."),
      resize: flag.describe("Change the number of nodes; refused, as nothing here does that yet."),
      fast: flag.describe(
        "Skip the setup script on nodes that have completed the same one already.",
      ),
      quiet_optimizer: flag.describe("Do not show the plan."),
      is_launched_by_jobs_controller: internal,
      [`is_launched_by_${product.word}_serve_controller` as const]: internal,
      [`is_launched_by_${protocol.requestPrefix}_serve_controller` as const]: internal,
      disable_controller_check: internal,
    }),
    output: LaunchResult,
    errors: [
      ...taskErrors,
      "InvalidClusterNameError",
      "ResourcesMismatchError",
      "ResourcesUnavailableError",
      "NoCloudAccessError",
      "ClusterOwnerIdentityMismatchError",
      "CommandError",
      "VolumeNotFoundError",
      "VolumeNotReadyError",
    ],
  },
  start: {
    route: "POST /start",
    queue: "long",
    summary: "Start a stopped or half-built cluster again.",
    access: "user",
    about: { cluster: "cluster_name" },
    input: body("StartBody", {
      cluster_name: clusterName,
      idle_minutes_to_autostop: optional(integer).describe("Null keeps what was set before."),
      wait_for: waitFor,
      retry_until_up: flag.describe("Keep trying until there is capacity."),
      down: flag.describe("Tear down instead of stopping; needs idle_minutes_to_autostop."),
      force: flag.describe("Run the start sequence even when the cluster is up."),
    }),
    output: Handle,
    errors: [
      "ValueError",
      "ClusterDoesNotExist",
      "NotSupportedError",
      "ClusterOwnerIdentityMismatchError",
      "ResourcesUnavailableError",
    ],
  },
  stop: {
    route: "POST /stop",
    summary: "Stop a cluster and keep its disks.",
    access: "user",
    about: { cluster: "cluster_name" },
    input: stopOrDown,
    output: Nothing,
    errors: ["ClusterDoesNotExist", "NotSupportedError", "ClusterOwnerIdentityMismatchError"],
  },
  down: {
    route: "POST /down",
    summary: "Tear a cluster down, disks included.",
    access: "user",
    about: { cluster: "cluster_name" },
    input: stopOrDown,
    output: Nothing,
    errors: ["ClusterDoesNotExist", "NotSupportedError", "ClusterOwnerIdentityMismatchError"],
  },
  preempt: {
    route: "POST /preempt",
    queue: "long",
    summary: "Simulate a cloud that takes back the machines of a cluster; only on this machine.",
    access: "user",
    about: { cluster: "cluster_name" },
    input: body("PreemptBody", {
      cluster_name: clusterName,
      rank: optional(integer.min(0)).describe("Only this node; null is every node."),
      notice_seconds: z
        .number()
        .min(0)
        .max(86_400)
        .default(30)
        .describe("Time between the notice and the loss of the nodes."),
      lose: flag.describe("Take the nodes immediately, without a notice."),
    }),
    output: Nothing,
    errors: ["ValueError", "ClusterDoesNotExist", "ClusterNotUpError", "NotSupportedError"],
  },
  autostop: {
    route: "POST /autostop",
    summary: "Set or cancel what happens to a cluster once it is idle.",
    access: "user",
    about: { cluster: "cluster_name" },
    input: body("AutostopBody", {
      cluster_name: clusterName,
      idle_minutes: integer.describe("Idle minutes; negative cancels."),
      wait_for: waitFor,
      down: flag.describe("Tear down instead of stopping."),
      hook: optional(longText).describe("Script to run on the cluster first."),
      hook_timeout: optional(integer).describe("Seconds for the script; null is 3600."),
    }),
    output: Nothing,
    errors: ["ClusterDoesNotExist", "ClusterNotUpError", "NotSupportedError"],
  },
  status: {
    route: "POST /status",
    reads: true,
    summary: "List clusters and their status.",
    access: "viewer",
    input: {
      ...body("StatusBody", {
        cluster_names: optional(listOf(text)).describe("Names or patterns; null is all."),
        refresh: z
          .enum(["NONE", "AUTO", "FORCE"])
          .default("NONE")
          .meta({ examples: ["NONE"] })
          .describe("Whether to ask the clouds first."),
        all_users: z.boolean().default(true).describe("Clusters of everyone."),
        include_credentials: z.boolean().default(true).describe("Add what SSH needs."),
        summary_response: flag.describe("Leave out the costly fields."),
        include_handle: z.boolean().default(true),
      }),
      bodyOptional: true,
    },
    output: z.array(ClusterStatusRecord),
  },
  endpoints: {
    route: "POST /endpoints",
    reads: true,
    summary: "Addresses of the ports that a cluster exposes.",
    access: "viewer",
    about: { cluster: "cluster" },
    input: body("EndpointsBody", {
      cluster: clusterName,
      port: optional(z.union([integer, text])).describe("Null is all of them."),
    }),
    output: z.record(z.string(), z.string()).describe("Port to address."),
    errors: ["ValueError", "ClusterNotUpError"],
  },
  ssh: {
    route: "GET /kubernetes-pod-ssh-proxy",
    mode: "socket",
    summary: "SSH to a node of a cluster, in binary messages.",
    access: "user",
    about: { cluster: "cluster_name" },
    input: {
      query: z.object({
        cluster_name: clusterName,
        worker: queryInteger(0, caps.entries).default(0).describe("Rank."),
        client_version: optional(queryInteger(0)).describe(
          "API number of the client; above 21, messages begin with a byte that says what they are.",
        ),
      }),
    },
    output: Nothing,
    errors: ["ValueError", "ClusterDoesNotExist", "ClusterNotUpError"],
  },
});

/** Clusters: their life, their jobs, their history. */
export const clusterOperations = {
  ...ownOperations,
  ...clusterJobOperations,
  ...clusterHistoryOperations,
};
