import { count } from "../common/count.ts";
import { AppError, fail, messageOf } from "../common/errors.ts";
import type { InputOf, OutputOf } from "../common/operation.ts";
import { kubernetesOperations as rows } from "../contract/operations/kubernetes.ts";
import { type Bound, bind, type Call } from "./bind.ts";
import { listLiveOf } from "./clusters/list-store.ts";
import { resourcesText } from "./clusters/schema.ts";
import type { Context } from "./context.ts";
import { findTask } from "./jobs/store.ts";
import { openRecords } from "./jobs/view.ts";
import {
  beginToAsk,
  labelAsTold,
  lacksLabel,
  removeLeftovers,
} from "./providers/kubernetes/labelling.ts";
import type { KubeNode, Pod } from "./providers/kubernetes/objects.ts";
import { clusterAnnotation, labels, serviceName } from "./providers/kubernetes/pod.ts";
import { listEverywhere, listNodes } from "./providers/kubernetes/pods.ts";

type Status = OutputOf<typeof rows.statusKubernetes>;

/** What a Kubernetes cluster has of Outrigger's, and the labels of its accelerators. */
export const kubernetesOperations: Bound[] = [
  bind(rows.statusKubernetes, status),
  bind(rows.kubernetesLabelGpus, labelGpus),
];

/** The clusters that have pods in the current context, also those of other control planes, and our managed jobs there. */
async function status(ctx: Context, _input: unknown, { signal }: Call): Promise<Status> {
  const { context, pods } = await podsOf(ctx, signal);
  const known = await listLiveOf(ctx.db, [...pods.keys()]);
  const ofJobs = known.flatMap(({ id, madeFor }) =>
    madeFor?.noun === "managed_job" ? [{ id, taskId: madeFor.id }] : [],
  );
  const tasks = await Promise.all(ofJobs.map(({ taskId }) => findTask(ctx.db, taskId)));
  const all = [...pods].map(([id, own]) => ({ id, record: toRecord(id, own) }));
  const users = all.filter(({ id }) => !ofJobs.some((one) => one.id === id));
  return [
    all.map(({ record }) => record),
    users.map(({ record }) => record),
    await openRecords(ctx, null)(tasks.flatMap((task) => task ?? [])),
    context,
  ];
}

/** The pods of clusters, by the id of these. */
async function podsOf({ kubernetes }: Context, signal: AbortSignal) {
  try {
    const api = await kubernetes.api(null);
    const all = await listEverywhere(api, labels.cluster, signal);
    const ours = all.filter(({ metadata }) => metadata.annotations?.[clusterAnnotation]);
    const idOf = ({ metadata }: Pod) => metadata.labels?.[labels.cluster] ?? "";
    return { context: api.context, pods: Map.groupBy(ours, idOf) };
  } catch (error) {
    signal.throwIfAborted();
    throw new AppError("ValueError", messageOf(error), {}, error);
  }
}

function toRecord(id: string, pods: readonly Pod[]): Status[0][number] {
  const annotations = pods[0]?.metadata.annotations ?? {};
  const { name, nodes, offer } = JSON.parse(annotations[clusterAnnotation] ?? "{}");
  const areUp = pods.length === nodes && pods.every((pod) => pod.status.phase === "Running");
  const begun = pods.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ""));
  return {
    cluster_name_on_cloud: serviceName({ id }),
    cluster_name: name,
    user: annotations[labels.user] ?? "",
    status: areUp ? "UP" : "INIT",
    resources_str: resourcesText({ nodes, offer }),
    launched_at: Math.min(...begun) / 1_000,
  };
}

type LabelInput = InputOf<typeof rows.kubernetesLabelGpus>;

/** Problems are told by the answer, not by the request's failure. */
async function labelGpus(ctx: Context, input: LabelInput, call: Call) {
  try {
    const message = await labelled(ctx, input, call);
    call.print(`${message}\n`);
    return { success: true, message };
  } catch (error) {
    if (!(error instanceof AppError) || call.signal.aborted) throw error;
    call.print(`${error.message}\n`);
    return { success: false, message: error.message };
  }
}

/** Labels the nodes that lack it, side by side; what became of that. Throws where one could not be. */
async function labelled(ctx: Context, input: LabelInput, call: Call): Promise<string> {
  const { signal } = call;
  const api = await ctx.kubernetes.api(input.context);
  if (input.cleanup_only)
    return `${count(await removeLeftovers(api, signal), "pod")} of earlier attempts deleted`;
  const nodes = (await listNodes(api, signal)).filter(lacksLabel);
  if (nodes.length === 0) return `every node with accelerators in ${api.context} has a label`;
  const failures: string[] = [];
  const label = async (node: KubeNode) => {
    const { name } = node.metadata;
    try {
      await beginToAsk(api, node, ctx.config.kubernetesImage, signal);
      if (!input.wait_for_completion) return;
      call.print(`${name}: labelled ${await labelAsTold(api, node, signal)}\n`);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(`${name}: ${messageOf(error)}`);
    }
  };
  await Promise.all(nodes.map(label));
  if (failures.length > 0) fail("CloudError", `not labelled: ${failures.join("; ")}`);
  return input.wait_for_completion
    ? `${count(nodes.length, "node")} labelled`
    : `asking on ${count(nodes.length, "node")}; call this again, and wait, to write the labels`;
}
