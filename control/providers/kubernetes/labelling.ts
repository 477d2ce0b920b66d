import { fail } from "../../../common/errors.ts";
import { limited } from "../../../common/limited.ts";
import { product } from "../../../common/product.ts";
import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { podPath } from "../../doors/kubernetes/exec.ts";
import { acceleratorsOf, ownAcceleratorLabel } from "./nodes.ts";
import type { KubeNode, Pod } from "./objects.ts";
import { endOf, pendingOf } from "./pending.ts";
import { hasEnded, removePod } from "./pods.ts";
import { podsWith } from "./watch.ts";

/** Labels nodes by the kind of their accelerators, which a pod on each asks the driver for. */

const purpose = { [`${product.word}/purpose`]: "label" };
const container = "driver";
/** Pulling the image may take a while. */
const askMs = 5 * 60_000;

const script = `set -e
names=$(nvidia-smi --query-gpu=name --format=csv,noheader)
printf '%s\\n' "$names" | head -n 1 > /dev/termination-log`;

const podNameOf = ({ metadata }: KubeNode): string => `${product.word}-label-${metadata.name}`;

const nodePathOf = ({ metadata }: KubeNode): string => `/api/v1/nodes/${metadata.name}`;

/** Whether a node has accelerators whose kind no label names. */
export const lacksLabel = (node: KubeNode): boolean => acceleratorsOf(node)?.label === null;

/** Has a pod ask for the kind, unless one does already. Only NVIDIA's driver brings its program along. */
export async function beginToAsk(
  api: KubeApi,
  node: KubeNode,
  image: string,
  signal: AbortSignal,
): Promise<void> {
  const { resource = "" } = acceleratorsOf(node) ?? {};
  if (resource !== "nvidia.com/gpu")
    fail("NotSupportedError", `set its label ${ownAcceleratorLabel} yourself: it has ${resource}`);
  await refuseWithoutRight(api, node, signal);
  const pod = {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: { name: podNameOf(node), labels: purpose },
    spec: {
      nodeName: node.metadata.name,
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      tolerations: [{ operator: "Exists" }],
      containers: [
        {
          ...{ name: container, image, command: ["sh", "-c", script] },
          resources: { limits: { [resource]: "1" } },
          terminationMessagePolicy: "FallbackToLogsOnError",
        },
      ],
    },
  };
  await api.send("POST", podPath(api.namespace), pod, signal);
}

/** No accelerator is taken to learn what could not be written down. A webhook may refuse a dry run of the change. */
async function refuseWithoutRight(
  api: KubeApi,
  { metadata: { name } }: KubeNode,
  signal: AbortSignal,
): Promise<void> {
  const review = {
    ...{ apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" },
    spec: { resourceAttributes: { verb: "patch", resource: "nodes", name } },
  };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const reviewed = await api.send<{ status?: { allowed: boolean } }>("POST", path, review, signal);
  if (reviewed?.status?.allowed) return;
  fail(
    "CloudError",
    'control cannot patch resource "nodes"; the chart gives it that right with rbac.labelNodes=true',
  );
}

/** Labels a node with what its pod was told, and answers that; the pod goes in any case. */
export async function labelAsTold(
  api: KubeApi,
  node: KubeNode,
  signal: AbortSignal,
): Promise<string> {
  try {
    const name = podNameOf(node);
    const value = kindIn(await limited(askMs, signal, (until) => untilTold(api, name, until)));
    const change = { metadata: { labels: { [ownAcceleratorLabel]: value } } };
    await api.send("PATCH", nodePathOf(node), change, signal);
    return value;
  } finally {
    await removePod(podsWith(api, purpose), podNameOf(node), signal);
  }
}

async function untilTold(api: KubeApi, name: string, signal: AbortSignal): Promise<Pod> {
  for await (const pod of podsWith(api, purpose).follow(name, signal)) {
    if (pod === undefined) break;
    if (hasEnded(pod)) return pod;
    const { lacks, why } = pendingOf(pod);
    if (lacks === "pod") fail("CloudError", why);
  }
  return fail("CloudError", `pod ${name} was deleted by somebody else`);
}

/** `NVIDIA H100 80GB HBM3` is no value of a label. */
function kindIn(pod: Pod): string {
  const { exitCode, message = "" } =
    pod.status.containerStatuses?.find(({ name }) => name === container)?.state?.terminated ?? {};
  if (exitCode !== 0) fail("CloudError", message.trim().split("\n").at(-1) || endOf(pod));
  return message.trim().replaceAll(/[^\w.]+/g, "-");
}

/** Deletes the pods that earlier attempts left; how many there were. */
export async function removeLeftovers(api: KubeApi, signal: AbortSignal): Promise<number> {
  const pods = podsWith(api, purpose);
  const left = await pods.all(signal);
  await Promise.all(left.map(({ metadata }) => removePod(pods, metadata.name, signal)));
  return left.length;
}
