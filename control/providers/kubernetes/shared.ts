import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { podPath } from "../../doors/kubernetes/exec.ts";
import type { ClusterRef } from "../provider.ts";
import type { Pod, Shared } from "./objects.ts";
import { type PodDefaults, preparedGate, pullSecretOf, serviceOf } from "./pod.ts";
import { outsideOf } from "./ports.ts";

/** What the pods of a cluster have in common. They own it, so that Kubernetes deletes it with the last of them. */

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
  for (const [plural, object] of outsideOf(cluster, defaults)) await ensure(plural, object);
  if (defaults.login === undefined) return;
  await ensure("secrets", pullSecretOf(cluster, defaults, defaults.login));
  const isOpen = { schedulingGates: [{ name: preparedGate, $patch: "delete" }] };
  await api.send("PATCH", podPath(api.namespace, name), { spec: isOpen }, signal);
}

/** Makes an object with its first owner, or adds another one. */
async function ensureOwned(
  api: KubeApi,
  plural: string,
  { metadata, ...object }: Shared,
  owner: object,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion } = object;
  const root = apiVersion === "v1" ? "api" : "apis";
  const path = `/${root}/${apiVersion}/namespaces/${api.namespace}/${plural}`;
  const owned = { ownerReferences: [owner] };
  const whole = { ...object, metadata: { ...metadata, ...owned } };
  const add = () => api.send("PATCH", `${path}/${metadata.name}`, { metadata: owned }, signal);
  // It may go with its last owner between the two.
  while (!(await api.send("POST", path, whole, signal)) && !(await add()));
}
