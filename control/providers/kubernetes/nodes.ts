import { meets, type Need, type Offer, usualCounts } from "../provider.ts";
import { type Amounts, amountOf, type KubeNode } from "./objects.ts";

/** What pods can be given on the nodes of a cluster. Pure. */

/** The resources that hold accelerators. */
export const acceleratorResources = ["nvidia.com/gpu", "amd.com/gpu", "google.com/tpu"] as const;

/** The label that we give nodes, then those of device plugins and clouds. */
export const ownAcceleratorLabel = "outrigger/accelerator";
const acceleratorLabels = [
  ownAcceleratorLabel,
  "skypilot.co/accelerator",
  "nvidia.com/gpu.product",
  "amd.com/gpu.product-name",
  "cloud.google.com/gke-accelerator",
  "cloud.google.com/gke-tpu-accelerator",
  "karpenter.k8s.aws/instance-gpu-name",
  "k8s.amazonaws.com/accelerator",
];

/** How clouds mark nodes that they may take back. */
const spotLabels: Amounts = {
  "cloud.google.com/gke-spot": "true",
  "cloud.google.com/gke-provisioning": "spot",
  "eks.amazonaws.com/capacityType": "SPOT",
  "karpenter.sh/capacity-type": "spot",
  "kubernetes.azure.com/scalesetpriority": "spot",
};

/** Accelerators of a node: how many of what, in which resource, by which of its labels. */
export interface NodeAccelerators {
  readonly name: string;
  readonly count: number;
  readonly resource: string;
  readonly label: { readonly key: string; readonly value: string } | null;
}

/** The most that a pod gets on one node. */
export interface Capacity {
  readonly cpus: number;
  readonly memoryGb: number;
  readonly accelerators: NodeAccelerators | null;
  readonly isSpot: boolean;
}

const gibibyte = 2 ** 30;
const usual = { cpus: 1, gbPerCpu: 2, cpusPerAccelerator: 4, gbPerCpuOfAccelerator: 4 };

export const isReady = ({ status }: KubeNode): boolean =>
  status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;

/** Models as they are known elsewhere, within the longer words of labels; the first that fits. */
const models =
  /\b(GB200|GB300|B200|B300|GH200|H200|H100|H20|A100|A10G|A10|A40|A16|A30|A2|L40S|L40|L4|T4|V100|P100|P4|K80|RTX[A-Z ]*\d+|MI\d+X?|TPU[ -]?V\d+\w*)\b/;

/** `NVIDIA-A100-SXM4-80GB` is an `A100-80GB`. */
export function acceleratorName(label: string): string {
  const words = label.toUpperCase().replace(/[-_]/g, " ");
  const model = models.exec(words)?.[1];
  if (model === undefined) return label.replace(/^(nvidia|tesla|amd)[-_ ]/i, "");
  return model === "A100" && /\b80GB\b/.test(words) ? "A100-80GB" : model.replaceAll(" ", "");
}

export function acceleratorsOf({ metadata, status }: KubeNode): NodeAccelerators | null {
  const resource = acceleratorResources.find((one) => amountOf(status.allocatable?.[one]) > 0);
  if (resource === undefined) return null;
  const key = acceleratorLabels.find((one) => metadata.labels?.[one] !== undefined);
  const value = key && metadata.labels?.[key];
  return {
    name: value ? acceleratorName(value) : "GPU",
    count: amountOf(status.allocatable?.[resource]),
    resource,
    label: key && value ? { key, value } : null,
  };
}

export const capacityOf = (node: KubeNode): Capacity => ({
  cpus: amountOf(node.status.allocatable?.["cpu"]),
  memoryGb: amountOf(node.status.allocatable?.["memory"]) / gibibyte,
  accelerators: acceleratorsOf(node),
  isSpot: Object.entries(spotLabels).some(([key, value]) => node.metadata.labels?.[key] === value),
});

/** Pods that satisfy `need` on some node, each kind of accelerator by rising count. What is taken now is not looked at: pods wait. */
export function offersOf(context: string, nodes: readonly KubeNode[], need: Need): Offer[] {
  const there = nodes
    .filter((node) => isReady(node) && node.spec.unschedulable !== true)
    .map(capacityOf)
    .filter(({ isSpot }) => need.isSpot !== true || isSpot);
  // A task that asks for none must not hold any; a query without nodes lists all there are.
  const isAsked =
    need.accelerators !== undefined || need.anyAccelerators || need.nodes === undefined;
  const kinds = !isAsked
    ? []
    : [...new Set(there.flatMap(({ accelerators }) => accelerators?.name ?? []))].sort();
  const sizes = kinds.flatMap((name) => countsOf(there, name).map((count) => ({ name, count })));
  return [null, ...sizes].flatMap((accelerators) => {
    const offer = offerOf(context, accelerators, need);
    return meets(offer, need) && there.some((node) => holds(node, offer)) ? [offer] : [];
  });
}

/** What pods usually ask for of a kind. */
function countsOf(there: readonly Capacity[], name: string): number[] {
  const most = Math.max(
    ...there.map(({ accelerators: one }) => (one?.name === name ? one.count : 0)),
  );
  return usualCounts(most);
}

function offerOf(context: string, accelerators: Offer["accelerators"], need: Need): Offer {
  const count = accelerators?.count ?? 0;
  const cpus = need.cpus?.count ?? (count > 0 ? usual.cpusPerAccelerator * count : usual.cpus);
  const gbPerCpu = count > 0 ? usual.gbPerCpuOfAccelerator : usual.gbPerCpu;
  const memoryGb = need.memoryGb?.count ?? cpus * gbPerCpu;
  const kind = accelerators && `--${accelerators.name}:${count}`;
  return {
    provider: "kubernetes",
    infra: `kubernetes/${context}`,
    region: context,
    zone: null,
    instanceType: `${cpus}CPU--${memoryGb}GB${kind ?? ""}`,
    ...{ cpus, memoryGb, accelerators },
    dollarsPerHour: 0,
    ...(need.network && { network: need.network }),
    ...(need.isSpot && { isSpot: need.isSpot }),
  };
}

/** Whether a node that runs nothing else has room for a pod. */
export const holds = (
  { cpus, memoryGb, accelerators: has }: Capacity,
  { accelerators: wanted, ...offer }: Pick<Offer, "cpus" | "memoryGb" | "accelerators">,
): boolean =>
  offer.cpus <= cpus &&
  offer.memoryGb <= memoryGb &&
  (wanted === null || (has?.name === wanted.name && has.count >= wanted.count));

/** Where the pods of an offer may run: the values of the label that its nodes have, in a nodeSelector's terms. */
export function affinityOf(nodes: readonly KubeNode[], offer: Offer): object[] {
  const labels = nodes
    .map(acceleratorsOf)
    .flatMap((one) => (one?.name === offer.accelerators?.name ? (one?.label ?? []) : []));
  const byKey = Map.groupBy(labels, ({ key }) => key);
  const kinds = [...byKey].map(([key, own]) => [
    { key, operator: "In", values: [...new Set(own.map(({ value }) => value))] },
  ]);
  const spots = offer.isSpot
    ? Object.entries(spotLabels)
        .filter(([key, value]) => nodes.some(({ metadata }) => metadata.labels?.[key] === value))
        .map(([key, value]) => [{ key, operator: "In", values: [value] }])
    : [];
  const [all, others] = kinds.length === 0 ? [spots, []] : [kinds, spots];
  const terms = others.length === 0 ? all : all.flatMap((a) => others.map((b) => [...a, ...b]));
  return terms.map((matchExpressions) => ({ matchExpressions }));
}

/** The resource in which nodes have the accelerators of an offer. */
export const resourceOf = (nodes: readonly KubeNode[], offer: Offer): string | undefined =>
  nodes.map(acceleratorsOf).find((one) => one?.name === offer.accelerators?.name)?.resource;
