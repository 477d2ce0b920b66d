import type { KubeApi } from "../../doors/kubernetes/api.ts";
import type { ClusterRef } from "../provider.ts";
import type { Shared } from "./objects.ts";
import { labels, type PodDefaults, serviceName, serviceOf } from "./pod.ts";

/** How ports of the head are reached from outside Kubernetes, where settings ask for that. */

/** Objects by their plural, in the order in which they are made. */
export function outsideOf(cluster: ClusterRef, defaults: PodDefaults): [string, Shared][] {
  const { ports, madeFor } = cluster;
  // Replicas are reached through their service: the ports of a task would lead past its sidecar.
  if (defaults.ports === "forward" || ports.length === 0 || madeFor?.noun === "replica") return [];
  const service = headServiceOf(cluster, defaults);
  if (defaults.ports === "loadbalancer") return [["services", service]];
  return [
    ["services", service],
    ["ingresses", ingressOf(service, cluster, defaults)],
  ];
}

const outsideName = ({ id }: Pick<ClusterRef, "id">): string => `${serviceName({ id })}-ports`;

function headServiceOf(cluster: ClusterRef, defaults: PodDefaults) {
  const { spec, metadata, ...service } = serviceOf(cluster, defaults);
  const { ports = [], selector: all } = spec;
  const type = defaults.ports === "loadbalancer" ? "LoadBalancer" : "ClusterIP";
  return {
    ...service,
    metadata: { ...metadata, name: outsideName(cluster) },
    spec: { type, ports, selector: { ...all, [labels.rank]: "0" } },
  };
}

/** A host for each port. No controller needs to rewrite paths for that, and applications need no base path. */
function ingressOf(
  { metadata, spec: { ports } }: ReturnType<typeof headServiceOf>,
  cluster: ClusterRef,
  { ports: pattern, ingressClass }: PodDefaults,
) {
  const hosts = ports.map(({ port }) => urlOf(pattern, cluster.id, port).hostname);
  const rules = ports.map(({ port: number }, at) => {
    const service = { name: metadata.name, port: { number } };
    return {
      host: hosts[at],
      http: { paths: [{ path: "/", pathType: "Prefix", backend: { service } }] },
    };
  });
  return {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata },
    spec: {
      ...(ingressClass && { ingressClassName: ingressClass }),
      // Without a secret, the controller takes its own certificate.
      ...(pattern.startsWith("https:") && { tls: [{ hosts }] }),
      rules,
    },
  };
}

/** Contains the id of the cluster: names may have characters that hosts cannot, and later clusters may have them. */
const urlOf = (pattern: string, clusterId: string, port: number): URL =>
  new URL(pattern.replace("*", `${clusterId}-${port}`));

interface Balancer {
  readonly status: {
    readonly loadBalancer: { readonly ingress?: readonly { ip?: string; hostname?: string }[] };
  };
}

interface Ingress {
  readonly spec: { readonly rules?: readonly { readonly host?: string }[] };
}

/** Where a port of a cluster is reached from outside: `host:port`, or a URL; undefined while there is no such place. */
export async function findOutside(
  api: KubeApi,
  ports: string,
  clusterId: string,
  port: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const place = `namespaces/${api.namespace}`;
  const name = outsideName({ id: clusterId });
  if (ports === "loadbalancer") {
    const found = await api.read<Balancer>(`/api/v1/${place}/services/${name}`, signal);
    const [address] = found?.status.loadBalancer.ingress ?? [];
    const host = address?.ip ?? address?.hostname;
    return host && `${host}:${port}`;
  }
  const path = `/apis/networking.k8s.io/v1/${place}/ingresses/${name}`;
  const { origin, hostname } = urlOf(ports, clusterId, port);
  const { rules = [] } = (await api.read<Ingress>(path, signal))?.spec ?? {};
  // It may have been made under other settings.
  return rules.some(({ host }) => host === hostname) ? origin : undefined;
}
