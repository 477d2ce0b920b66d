import { unlessAborted } from "../../../common/limited.ts";
import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { cached } from "../cached.ts";
import {
  amountOf,
  type KubeNode,
  type NodeSelectorTerm,
  type Pod,
  type Taint,
  type Toleration,
} from "./objects.ts";
import { listNodes } from "./pods.ts";

/** Which nodes the scheduler means: it counts those that lack a resource or have a taint, and names none. */

const namesShown = 5;
/** All pods that wait share what is known of the nodes, or that they cannot be read. */
const nodesMs = 60_000;
const gibibyte = 2 ** 30;
const inBytes = ["memory", "ephemeral-storage"];

type Nodes = readonly KubeNode[] | undefined;
const read = new WeakMap<KubeApi, ReturnType<typeof cached<Nodes>>>();

function nodesOf(api: KubeApi): Promise<Nodes> {
  const list = () => listNodes(api, new AbortController().signal).catch(() => undefined);
  const nodes = read.get(api) ?? cached<Nodes>(nodesMs, list);
  read.set(api, nodes);
  return nodes.read();
}

/**
 * What the scheduler says of a pod, with the nodes that have what it finds insufficient and the taints that keep the pod
 * away; as it is where nodes cannot be read.
 */
export async function nameNodes(
  api: KubeApi,
  { spec }: Pod,
  said: string,
  signal: AbortSignal,
): Promise<string> {
  if (!/Insufficient |untolerated taint/.test(said)) return said;
  const nodes = (await unlessAborted(nodesOf(api), signal))?.filter((one) => matches(spec, one));
  if (nodes === undefined) return said;
  const open = nodes.filter(
    (one) => one.spec.unschedulable !== true && keptBy(spec, one).length === 0,
  );
  const resources = said.matchAll(/\bInsufficient ([\w-]+(?:[./][\w-]+)*)/g);
  const holders = [...resources].map(([, resource = ""]) => holdersOf(resource, open));
  const taints = said.includes("untolerated taint") ? taintsOf(spec, nodes) : [];
  return [said, ...holders, ...taints].join(" ");
}

/** Whether a pod asks for a node by its labels; expressions that we never write count as met. */
function matches(
  { nodeSelector = {}, affinity }: Pod["spec"],
  { metadata: { labels = {} } }: KubeNode,
): boolean {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const isMet = ({ matchExpressions = [] }: NodeSelectorTerm) =>
    matchExpressions.every(
      ({ key, operator, values = [] }) => operator !== "In" || values.includes(labels[key] ?? ""),
    );
  return (
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value) &&
    (required?.nodeSelectorTerms.some(isMet) ?? true)
  );
}

/** `Nodes that have nvidia.com/gpu: n1 (8), n2 (4), and 3 more.` Those with the most come first. */
function holdersOf(resource: string, nodes: readonly KubeNode[]): string {
  const holders = nodes
    .map(({ metadata, status }) => ({ ...metadata, has: amountOf(status.allocatable?.[resource]) }))
    .filter(({ has }) => has > 0)
    .sort((a, b) => b.has - a.has);
  if (holders.length === 0) return `No node that it may use has ${resource}.`;
  const amount = (has: number) =>
    inBytes.includes(resource) ? `${(has / gibibyte).toFixed(1)} GiB` : String(has);
  const names = holders.map(({ name, has }) => `${name} (${amount(has)})`);
  return `Nodes that have ${resource}: ${someOf(names)}.`;
}

/** The taints of a node that keep a pod away. */
const keptBy = ({ tolerations = [] }: Pod["spec"], { spec }: KubeNode): readonly Taint[] =>
  (spec.taints ?? [])
    .filter(({ effect }) => effect !== "PreferNoSchedule")
    .filter((taint) => !tolerations.some((one) => tolerates(one, taint)));

/** `Taint gpu=only:NoSchedule: n1, n2.`, for each taint that keeps a pod away. */
function taintsOf(pod: Pod["spec"], nodes: readonly KubeNode[]): string[] {
  const taints = nodes.flatMap((node) =>
    keptBy(pod, node).map(({ key, value = "", effect }) => ({
      name: node.metadata.name,
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
