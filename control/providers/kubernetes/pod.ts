import { settingName } from "../../../common/config.ts";
import { ensureSudo } from "../../../common/containers.ts";
import { product } from "../../../common/product.ts";
import { imageAt, type RegistryLogin } from "../../../contract/containers-api.ts";
import {
  claimFolder,
  containerName,
  findRoot,
  runtimeFolder,
} from "../../doors/kubernetes/exec.ts";
import { nodeIdOf } from "../../doors/node-id.ts";
import { gatherScript } from "../../doors/runtime.ts";
import type { ClusterRef } from "../provider.ts";
import { merge } from "./merge.ts";
import { affinityOf, resourceOf } from "./nodes.ts";
import type { KubeNode } from "./objects.ts";

/** What a node of a cluster is in Kubernetes. Pure. */

/** Labels and annotations by which we know what is ours. */
export const labels = {
  control: `${product.word}/control`,
  cluster: `${product.word}/cluster-id`,
  node: `${product.word}/node-id`,
  rank: `${product.word}/rank`,
  name: `${product.word}/cluster`,
  user: `${product.word}/user`,
} as const;
export const clusterAnnotation = `${product.word}/cluster`;

/** What of a control plane all its pods have. */
export interface PodDefaults {
  readonly controlId: string;
  readonly image: string;
  /** An image that pods take Node.js from; control sends it where there is none. */
  readonly runtimeImage?: string | undefined;
  /** No pod is given more seconds to end. */
  readonly graceAtMost: number;
  /** How ports are reached from outside: `forward`, `loadbalancer`, or the URLs of an Ingress, as `https://*.example.com`. */
  readonly ports: string;
  /** The class of an Ingress; that of the Kubernetes cluster where it is left out. */
  readonly ingressClass?: string | undefined;
  /** What the registry of the cluster's image asks for. */
  readonly login?: RegistryLogin | undefined;
}

/** Selects objects that have these labels. */
export const selector = (of: Readonly<Record<string, string>>): string =>
  `labelSelector=${encodeURIComponent(
    Object.entries(of)
      .map(([key, value]) => `${key}=${value}`)
      .join(","),
  )}`;

export const podName = (nodeId: string): string => `${product.word}-${nodeId}`;
export const serviceName = ({ id }: Pick<ClusterRef, "id">): string => `${product.word}-${id}`;

const gibibyte = 2 ** 30;

/**
 * The first process of a pod: waits until control has brought the agent, and starts it again whenever it crashes. The
 * pod ends when the agent leaves, or is told to by Kubernetes. What follows our own deletion is no preemption.
 */
const firstProcess = `
${findRoot}
mkdir -p "$root/agent" "$root/bundles" && chmod 700 "$root" "$root/agent"
[ "$(id -u)" != 0 ] || { ${ensureSudo}; } > /dev/null 2>&1
agent= leaves=
end() {
  leaves=1
  [ ! -e "$root/deleted" ] || exit 0
  [ -n "$agent" ] || exit 0
  kill -TERM "$agent"
}
trap end TERM
while [ ! -e "$root/agent/program" ]; do sleep 0.1 & wait $!; done
while :; do
  . "$root/agent/program" >> "$root/agent/agent.log" 2>&1 < /dev/null & agent=$!
  while :; do
    wait "$agent"; code=$?
    kill -0 "$agent" 2> /dev/null || break
  done
  # It was told to leave before it listened.
  [ "$code$leaves" != 1431 ] || exit 0
  case $code in 0 | 2) exit "$code" ;; esac
  sleep 0.2
done`;

/** The service that gives the nodes of a cluster names, and its ports an address within Kubernetes. */
export function serviceOf(cluster: ClusterRef, defaults: PodDefaults) {
  const ports = cluster.ports.flatMap(portsOf);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: serviceName(cluster), labels: clusterLabels(cluster, defaults) },
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: { [labels.cluster]: cluster.id },
      ...(ports.length > 0 && {
        ports: ports.map((port) => ({ name: `port-${port}`, port, targetPort: port })),
      }),
    },
  };
}

/** What nodes pull the image of a cluster with. */
export function pullSecretOf(
  cluster: ClusterRef,
  defaults: PodDefaults,
  { server, user: username, password }: RegistryLogin,
) {
  const config = { auths: { [server]: { username, password } } };
  return {
    ...{ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/dockerconfigjson" },
    metadata: { name: serviceName(cluster), labels: clusterLabels(cluster, defaults) },
    data: { ".dockerconfigjson": Buffer.from(JSON.stringify(config)).toString("base64") },
  };
}

/** Keeps a pod from being scheduled before the secret is there that its image is pulled with. */
export const preparedGate = `${product.word}/prepared`;

/** The ports of `8080` or `8000-8010`. */
function portsOf(range: string): number[] {
  const [first = 0, last = first] = range.split("-").map(Number);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

const labelValue = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;

function clusterLabels(cluster: ClusterRef, { controlId }: PodDefaults): Record<string, string> {
  const own = { [labels.name]: cluster.name, [labels.user]: cluster.user.name, ...cluster.labels };
  // Kubernetes takes fewer characters than we do; annotations take them all.
  const fit = Object.entries(own).filter(([, value]) => labelValue.test(value));
  return { ...Object.fromEntries(fit), [labels.control]: controlId, [labels.cluster]: cluster.id };
}

/** The pod of a node of a cluster: ours, with what the task says of pods over it. */
export function podOf(
  cluster: ClusterRef,
  rank: number,
  nodes: readonly KubeNode[],
  defaults: PodDefaults,
): object {
  const { id, name, nodes: size, offer, machine, user } = cluster;
  const nodeId = nodeIdOf(cluster, rank);
  const { kubernetes = {} } = machine;
  const { claims = [] } = machine;
  const { login } = defaults;
  const image =
    machine.image?.kind === "container" ? imageAt(machine.image.name, login) : undefined;
  const queue = kubernetes.kueue?.["local_queue_name"];
  const affinity = affinityOf(nodes, offer);
  const kept = { ...machine, ...(image && { image: { ...machine.image, name: image } }) };
  const shown = { name, nodes: size, offer, machine: { ...kept, sealedLogin: undefined } };
  // What it is found by, whatever the task says.
  const own = {
    metadata: {
      name: podName(nodeId),
      labels: {
        ...{ [labels.control]: defaults.controlId, [labels.cluster]: id },
        ...{ [labels.node]: nodeId, [labels.rank]: String(rank) },
      },
      annotations: { [clusterAnnotation]: JSON.stringify(shown) },
    },
    spec: { restartPolicy: "Never" },
  };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      labels: {
        ...clusterLabels(cluster, defaults),
        ...(queue !== undefined && { "kueue.x-k8s.io/queue-name": queue }),
      },
      annotations: {
        ...cluster.labels,
        [labels.user]: user.name,
      },
    },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostname: podName(nodeId),
      subdomain: serviceName({ id }),
      terminationGracePeriodSeconds: graceOf(cluster, defaults),
      ...(affinity.length > 0 && {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: affinity },
          },
        },
      }),
      ...(machine.priorityClass !== undefined && { priorityClassName: machine.priorityClass }),
      tolerations: tolerationsOf(cluster, nodes),
      ...(login && {
        schedulingGates: [{ name: preparedGate }],
        imagePullSecrets: [{ name: serviceName({ id }) }],
      }),
      ...(defaults.runtimeImage && { initContainers: [runtimeOf(defaults.runtimeImage)] }),
      containers: [
        {
          name: containerName,
          image: image ?? defaults.image,
          command: ["/bin/sh", "-c", firstProcess],
          env: Object.entries(agentSettings(cluster, defaults)).map(([key, value]) => ({
            name: key,
            value,
          })),
          ports: cluster.ports.flatMap(portsOf).map((containerPort) => ({ containerPort })),
          resources: resourcesOf(cluster, nodes),
          volumeMounts: [
            { name: "shm", mountPath: "/dev/shm" },
            ...(defaults.runtimeImage ? [runtimeMount] : []),
            ...claims.map((claim, at) => ({ name: `v${at}`, mountPath: claimFolder(claim) })),
          ],
        },
      ],
      volumes: [
        { name: "shm", emptyDir: { medium: "Memory" } },
        ...(defaults.runtimeImage ? [{ name: "runtime", emptyDir: {} }] : []),
        ...claims.map((claimName, at) => ({
          name: `v${at}`,
          persistentVolumeClaim: { claimName },
        })),
      ],
    },
  };
  const { custom_metadata: metadata, pod_config: more } = kubernetes;
  return [{ metadata }, more, own].reduce<object>(merge, pod);
}

const runtimeMount = { name: "runtime", mountPath: runtimeFolder };

/** Leaves Node.js of another image for the container of ours, before that begins. */
const runtimeOf = (image: string) => ({
  ...{ name: "runtime", image, volumeMounts: [runtimeMount] },
  command: ["node", "-e", gatherScript, runtimeFolder],
  resources: { requests: { cpu: "50m", memory: "64Mi" } },
});

/** A pod ends with its agent, so that is all it takes to turn a node off. */
const agentSettings = (cluster: ClusterRef, defaults: PodDefaults): Record<string, string> => ({
  [settingName("onTerm")]: "preemption",
  [settingName("notices")]: "none",
  [settingName("graceSeconds")]: String(graceOf(cluster, defaults)),
  [settingName("powerOffCommand")]: "true",
});

/** A pod that is taken away has time for its hooks, and for their logs to be fetched. */
export const graceOf = (
  { machine }: Pick<ClusterRef, "machine">,
  { graceAtMost }: Pick<PodDefaults, "graceAtMost">,
): number => Math.min(graceAtMost, Math.max(grace.least, (machine.graceSeconds ?? 0) + grace.rest));

const grace = { least: 30, rest: 15 };

/** Requests; limits of accelerators, and of all else where the workspace sets them, by so much above the requests. */
function resourcesOf({ offer, machine }: ClusterRef, nodes: readonly KubeNode[]): object {
  const { cpus, memoryGb, accelerators } = offer;
  const { ephemeralStorageGb: disk, kubernetes } = machine;
  const resource = accelerators && resourceOf(nodes, offer);
  const given = resource && accelerators ? { [resource]: String(accelerators.count) } : {};
  const times = (by: number) => ({
    cpu: String(cpus * by),
    memory: String(Math.round(memoryGb * by * gibibyte)),
    ...(disk !== undefined && { "ephemeral-storage": String(Math.round(disk * by * gibibyte)) }),
  });
  const by = Number(kubernetes?.set_pod_resource_limits ?? 0);
  const limits = { ...(by > 0 && times(by)), ...given };
  return { requests: { ...times(1), ...given }, ...((resource || by > 0) && { limits }) };
}

/** Nodes with accelerators, and those that may be taken back, keep other pods away by taints. */
function tolerationsOf({ offer }: ClusterRef, nodes: readonly KubeNode[]): object[] {
  const resource = offer.accelerators && resourceOf(nodes, offer);
  const keys = [...(resource ? [resource] : []), ...(offer.isSpot ? spotTaints : [])];
  return keys.map((key) => ({ key, operator: "Exists" }));
}

const spotTaints = ["cloud.google.com/gke-spot", "kubernetes.azure.com/scalesetpriority"];
