import { unlessAborted } from "../../../common/limited.ts";
import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { cached } from "../cached.ts";
import { amountOf, type KubeNode, type Pod, type Taint, type Toleration } from "./objects.ts";
import { listNodes } from "./pods.ts";

/** Which nodes the scheduler means: it counts those that lack a resource or have a taint, and names none. */

const namesShown = 5;
/** All pods that wait share what is known of the nodes. */
const nodesMs = 10_000;
const gibibyte = 2 ** 30;
const inBytes = ["memory", "ephemeral-storage"];

const read = new WeakMap<KubeApi, ReturnType<typeof cached<readonly KubeNode[]>>>();
/** A pod that has not changed waits for the same reason. */
const told = new WeakMap<Pod, string>();

function nodesOf(api: KubeApi): Promise<readonly KubeNode[]> {
  const nodes =
    read.get(api) ?? cached(nodesMs, () => listNodes(api, new AbortController().signal));
  read.set(api, nodes);
  return nodes.read();
}

/**
 * What the scheduler says of a pod, with the nodes that have what it finds insufficient and the taints that keep the pod
 * away; as it is where nodes cannot be read.
 */
export async function nameNodes(
  api: KubeApi,
  pod: Pod,
  said: string,
  signal: AbortSignal,
): Promise<string> {
  if (!/Insufficient |untolerated taint/.test(said)) return said;
  const known = told.get(pod);
  if (known !== undefined) return known;
  const nodes = await unlessAborted(nodesOf(api), signal).catch(() => undefined);
  signal.throwIfAborted();
  if (nodes === undefined) return said;
  const resources = said.matchAll(/\bInsufficient ([\w-]+(?:[./][\w-]+)*)/g);
  const holders = [...resources].map(([, resource = ""]) => holdersOf(resource, nodes));
  const taints = said.includes("untolerated taint") ? taintsOf(pod, nodes) : [];
  const whole = [said, ...holders, ...taints].join(" ");
  told.set(pod, whole);
  return whole;
}

/** `Nodes that have nvidia.com/gpu: n1 (8), n2 (4), and 3 more.` Those with the most come first. */
function holdersOf(resource: string, nodes: readonly KubeNode[]): string {
  const holders = nodes
    .map(({ metadata, status }) => ({ ...metadata, has: amountOf(status.allocatable?.[resource]) }))
    .filter(({ has }) => has > 0)
    .sort((a, b) => b.has - a.has);
  if (holders.length === 0) return `No node has ${resource}.`;
  const amount = (has: number) =>
    inBytes.includes(resource) ? `${(has / gibibyte).toFixed(1)} GiB` : String(has);
  const names = holders.map(({ name, has }) => `${name} (${amount(has)})`);
  return `Nodes that have ${resource}: ${someOf(names)}.`;
}

/** `Taint gpu=only:NoSchedule: n1, n2.`, for each taint that keeps a pod away. */
function taintsOf({ spec }: Pod, nodes: readonly KubeNode[]): string[] {
  const taints = nodes.flatMap(({ metadata: { name }, spec: { taints: all = [] } }) =>
    all
      .filter((taint) => taint.effect !== "PreferNoSchedule")
      .filter((taint) => !spec.tolerations?.some((one) => tolerates(one, taint)))
      .map(({ key, value = "", effect }) => ({
        name,
        taint: `${key}${value && `=${value}`}:${effect}`,
      })),
  );
  const byTaint = Map.groupBy(taints, ({ taint }) => taint);
  return [...byTaint]
    .slice(0, namesShown)
    .map(([taint, own]) => `Taint ${taint}: ${someOf(own.map(({ name }) => name))}.`);
}

/** Source: Kubernetes documentation, taints and tolerations. */
const tolerates = (
  { key, operator = "Equal", value = "", effect }: Toleration,
  taint: Taint,
): boolean =>
  (!effect || effect === taint.effect) &&
  (key ? key === taint.key : operator === "Exists") &&
  (operator === "Exists" || value === (taint.value ?? ""));

function someOf(names: readonly string[]): string {
  const left = names.length - namesShown;
  return [...names.slice(0, namesShown), ...(left > 0 ? [`and ${left} more`] : [])].join(", ");
}
