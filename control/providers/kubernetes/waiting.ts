import type { KubeApi } from "../../doors/kubernetes/api.ts";
import type { KubeEvent, ListOf, Pod } from "./objects.ts";
import { type Pending, pendingOf } from "./pending.ts";
import { isPending } from "./pods.ts";
import { nameNodes } from "./scheduling.ts";
import type { PodWatch } from "./watch.ts";

/** Pods that have not begun: what they wait for, and until when. */

/** A pod that has not begun is looked at for warnings so often. */
const warningMs = 2_000;

/** Waits until a pod runs, has a reason not to, by its conditions or by a warning, or the time is over. */
export async function untilBegun(
  pods: PodWatch,
  pod: Pod,
  withinMs: number,
  signal: AbortSignal,
): Promise<Pod> {
  const endsAt = performance.now() + withinMs;
  let last = pod;
  while (performance.now() < endsAt) {
    last = await untilMoved(pods, last, warningMs, signal);
    if (!isPending(last)) break;
    const { lacks, isWarned } = await lookAtPending(pods.api, last, signal);
    if (lacks !== "time" || isWarned) break;
  }
  return last;
}

/** Follows pending pods, each once, and calls back when one is pending no longer, gone, or cannot be followed. */
export function openPendingPods(over: (pod: Pod) => void): (pods: PodWatch, pod: Pod) => void {
  const followed = new Set<string>();
  async function follow(pods: PodWatch, { metadata: { name, uid } }: Pod): Promise<void> {
    for await (const pod of pods.follow(name, new AbortController().signal))
      if (pod === undefined || pod.metadata.uid !== uid || !isPending(pod)) return;
  }
  return (pods, pod) => {
    const { name, uid = name } = pod.metadata;
    if (followed.has(uid)) return;
    followed.add(uid);
    const end = () => {
      followed.delete(uid);
      over(pod);
    };
    follow(pods, pod).then(end, end);
  };
}

/** As `untilBegun`, by its conditions alone. */
async function untilMoved(
  pods: PodWatch,
  pod: Pod,
  withinMs: number,
  signal: AbortSignal,
): Promise<Pod> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
  let last = pod;
  const isSettled = () => !isPending(last) || pendingOf(last).lacks !== "time";
  try {
    if (!isSettled())
      for await (const one of pods.follow(pod.metadata.name, limit)) {
        last = one ?? last;
        if (one === undefined || isSettled()) break;
      }
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.aborted) throw error;
  }
  return last;
}

/** Why a pod does not run yet, from its conditions and, if those do not say, its events. */
export async function lookAtPending(api: KubeApi, pod: Pod, signal: AbortSignal): Promise<Pending> {
  const pending = pendingOf(pod);
  if (pending.lacks === "place")
    return { ...pending, why: await nameNodes(api, pod, pending.why, signal) };
  if (pending.lacks !== "time") return pending;
  const of = `involvedObject.name%3D${pod.metadata.name}`;
  const path = `/api/v1/namespaces/${api.namespace}/events?fieldSelector=${of}`;
  return pendingOf(pod, (await api.read<ListOf<KubeEvent>>(path, signal))?.items);
}
