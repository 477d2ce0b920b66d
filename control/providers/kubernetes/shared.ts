import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { podPath } from "../../doors/kubernetes/exec.ts";
import type { ClusterRef } from "../provider.ts";
import type { Meta, Pod } from "./objects.ts";
import {
  balancerName,
  balancerOf,
  type PodDefaults,
  preparedGate,
  pullSecretOf,
  serviceOf,
} from "./pod.ts";

/** What the pods of a cluster have in common. They own it, so that Kubernetes deletes it with the last of them. */

interface Shared {
  readonly metadata: Pick<Meta, "name" | "labels">;
}

/** Has there be what a pod needs besides itself, and lets it be scheduled then. */
export async function ensureShared(
  api: KubeApi,
  cluster: ClusterRef,
  { metadata: { name, uid } }: Pod,
  defaults: PodDefaults,
  signal: AbortSignal,
): Promise<void> {
  const owner = { apiVersion: "v1", kind: "Pod", name, uid };
  const ensure = (plural: string, object: Shared) =>
    ensureOwned(api, plural, object, owner, signal);
  await ensure("services", serviceOf(cluster, defaults));
  if (defaults.ports === "loadbalancer" && cluster.ports.length > 0)
    await ensure("services", balancerOf(cluster, defaults));
  if (defaults.login === undefined) return;
  await ensure("secrets", pullSecretOf(cluster, defaults, defaults.login));
  const isOpen = { schedulingGates: [{ name: preparedGate, $patch: "delete" }] };
  await api.send("PATCH", podPath(api.namespace, name), { spec: isOpen }, signal);
}

interface Balancer {
  readonly status: {
    readonly loadBalancer: { readonly ingress?: readonly { ip?: string; hostname?: string }[] };
  };
}

/** Where the ports of a cluster are reached from outside; undefined while that is being made, or never is. */
export async function findAddress(
  api: KubeApi,
  clusterId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${api.namespace}/services/${balancerName({ id: clusterId })}`;
  const [address] = (await api.read<Balancer>(path, signal))?.status.loadBalancer.ingress ?? [];
  return address?.ip ?? address?.hostname;
}

/** Makes an object with its first owner, or adds another one. */
async function ensureOwned(
  api: KubeApi,
  plural: string,
  { metadata, ...object }: Shared,
  owner: object,
  signal: AbortSignal,
): Promise<void> {
  const path = `/api/v1/namespaces/${api.namespace}/${plural}`;
  const owned = { ownerReferences: [owner] };
  const whole = { ...object, metadata: { ...metadata, ...owned } };
  const add = () => api.send("PATCH", `${path}/${metadata.name}`, { metadata: owned }, signal);
  // It may go with its last owner between the two.
  while (!(await api.send("POST", path, whole, signal)) && !(await add()));
}
