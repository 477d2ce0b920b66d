import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { containerName, podPath } from "../../doors/kubernetes/exec.ts";
import { announceDeletion } from "./bring.ts";
import { isReady } from "./nodes.ts";
import type { KubeNode, ListOf, Pod } from "./objects.ts";
import type { PodWatch } from "./watch.ts";

/** Calls about pods and what belongs to them, in the namespace of a context. */

/** A pod that was told of its end leaves at once; one that hangs is killed after this. */
const deletionSeconds = 5;
/** How long after its time a pod may end before its node is looked at. */
const lateMs = 20_000;

export const isPending = ({ status }: Pod): boolean => status.phase === "Pending";
export const hasEnded = (pod: Pod): boolean => ["Succeeded", "Failed"].includes(phaseOf(pod));

/**
 * The phase of what is ours: a container that others add to a pod may outlive it. A pod that its node evicted, or that
 * ended because its node shuts down, failed even if our container ended with 0.
 */
export function phaseOf({ status }: Pod): Pod["status"]["phase"] {
  if (status.phase === "Failed" && status.reason !== undefined) return "Failed";
  const own = status.containerStatuses?.find(({ name }) => name === containerName);
  const end = own?.state?.terminated;
  if (end === undefined) return status.phase;
  return end.exitCode === 0 ? "Succeeded" : "Failed";
}

/** The seconds that a pod has to end, as its specification says. */
export const graceIn = ({ spec }: Pod): number => spec.terminationGracePeriodSeconds ?? 30;

export const readPod = (
  api: KubeApi,
  name: string,
  signal: AbortSignal,
): Promise<Pod | undefined> => api.read<Pod>(podPath(api.namespace, name), signal);

export const listNodes = async (api: KubeApi, signal: AbortSignal): Promise<readonly KubeNode[]> =>
  (await api.read<ListOf<KubeNode>>("/api/v1/nodes", signal))?.items ?? [];

/** The pods that have a label, of all namespaces; of that of the context where others may not be listed. */
export async function listEverywhere(
  api: KubeApi,
  label: string,
  signal: AbortSignal,
): Promise<readonly Pod[]> {
  const query = `labelSelector=${encodeURIComponent(label)}`;
  const all = await api.read<ListOf<Pod>>(`/api/v1/pods?${query}`, signal).catch(() => undefined);
  return (
    (all ?? (await api.read<ListOf<Pod>>(`${podPath(api.namespace)}?${query}`, signal)))?.items ??
    []
  );
}

/** The pods of all namespaces that hold anything of a node. */
export async function listRunning(api: KubeApi, signal: AbortSignal): Promise<readonly Pod[]> {
  const fields = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
  const path = `/api/v1/pods?fieldSelector=${encodeURIComponent(fields)}`;
  return (await api.read<ListOf<Pod>>(path, signal))?.items ?? [];
}

/**
 * Waits until a pod that is being deleted is gone. If its node turns out to be unable to end it, this returns, so that
 * its cluster can say why the pod is lost; the next call deletes the pod from the API.
 */
export const untilGoneOrLost = async (
  pods: PodWatch,
  pod: Pod,
  signal: AbortSignal,
): Promise<void> =>
  untilGone(pods, pod, signal, (await whyStranded(pods.api, pod, signal)) !== undefined);

/** Waits until a pod that is being deleted is gone. With `isForced`, one that its node cannot end is deleted from the API. */
async function untilGone(
  pods: PodWatch,
  { metadata: { name, uid } }: Pod,
  signal: AbortSignal,
  isForced = true,
): Promise<void> {
  const { api } = pods;
  for await (const pod of pods.follow(name, signal)) {
    if (pod === undefined || pod.metadata.uid !== uid) return;
    if ((await whyStranded(api, pod, signal)) === undefined) continue;
    if (!isForced) return;
    await deletePod(api, name, 0, signal);
  }
}

/** Why a pod is no node any more though nothing failed in it: it was taken away, or cannot be. */
export async function whyLost(
  api: KubeApi,
  pod: Pod,
  signal: AbortSignal,
): Promise<string | undefined> {
  const isTaken = pod.metadata.deletionTimestamp !== undefined;
  if (phaseOf(pod) !== "Succeeded") return whyStranded(api, pod, signal);
  return isTaken ? "its pod was deleted" : undefined;
}

/**
 * Why a pod that was to end does not, as far as its node can say: that is not ready, or gone. Undefined while it may
 * still end, and before Kubernetes has given it up, which it does some minutes after it last heard of the node.
 */
export async function whyStranded(
  api: KubeApi,
  pod: Pod,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { deletionTimestamp: endsAt } = pod.metadata;
  if (endsAt === undefined || Date.now() - Date.parse(endsAt) < lateMs) return undefined;
  const why = await whyUnready(api, pod, signal);
  return why && `it was on ${why}`;
}

/** `node n1 of Kubernetes context lab, which is not ready`; undefined where the node of a pod is well. */
export async function whyUnready(
  api: KubeApi,
  { spec: { nodeName } }: Pod,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (nodeName === undefined) return undefined;
  const node = await api.read<KubeNode>(`/api/v1/nodes/${nodeName}`, signal);
  if (node !== undefined && isReady(node)) return undefined;
  const is = node === undefined ? "gone" : "not ready";
  return `node ${nodeName} of Kubernetes context ${api.context}, which is ${is}`;
}

/** Deletes a pod and waits until it is gone; no hook runs. */
export async function removePod(
  pods: PodWatch,
  name: string,
  signal: AbortSignal,
  graceSeconds = deletionSeconds,
): Promise<void> {
  const { api } = pods;
  const pod = await readPod(api, name, signal);
  if (pod === undefined) return;
  pods.note(pod);
  if (pod.status.phase === "Running") await announceDeletion(api, name, signal).catch(() => {});
  signal.throwIfAborted();
  await deletePod(api, name, graceSeconds, signal);
  await untilGone(pods, pod, signal);
}

const deletePod = (api: KubeApi, name: string, graceSeconds: number, signal: AbortSignal) =>
  api.send(
    "DELETE",
    `${podPath(api.namespace, name)}?gracePeriodSeconds=${graceSeconds}`,
    undefined,
    signal,
  );
