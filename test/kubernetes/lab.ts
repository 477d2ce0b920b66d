import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterOperations as clusters } from "../../contract/operations/clusters.ts";
import { containerName } from "../../control/doors/kubernetes/exec.ts";
import { merge } from "../../control/providers/kubernetes/merge.ts";
import { until } from "../helpers/agent.ts";
import { type Lab, labImage, openLab } from "../helpers/kubernetes.ts";
import { startControl, type TestControl } from "../helpers/programs.ts";

/** Does what takes a node of a cluster away, and waits until the cluster has become UP once more. */
export async function untilUpAgain<T>(
  { client }: Pick<TestControl, "client">,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const look = async () => (await client.callAndGet(clusters.status, { cluster_names: [name] }))[0];
  const before = await look();
  const result = await work();
  await until(async () => {
    const now = await look();
    const isNew = now?.status_updated_at !== before?.status_updated_at;
    return (isNew && now?.status === "UP") || undefined;
  });
  return result;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** `secrets` of tasks whose image has a login. */
export const registryLogin = {
  SKYPILOT_DOCKER_USERNAME: "ann",
  SKYPILOT_DOCKER_PASSWORD: "hunter2",
  SKYPILOT_DOCKER_SERVER: "docker.io",
};

/** The numbers that a job prints, one a line; in a log, the name of the job may stand before them. */
export const numbersIn = (log: string): number[] =>
  [...log.matchAll(/^(?:\(.*\) )?(\d+)$/gm)].map(([, number]) => Number(number));

/** Waits until the API server answers again, and what is asked of it is what it was. */
export const untilAgain = <T>(ask: () => Promise<T>, before: T): Promise<true> =>
  until(() =>
    ask().then(
      (now) => now === before || undefined,
      () => undefined,
    ),
  );

/** Packing Node.js takes seconds; the same pack serves all tests. */
const packed = join(import.meta.dirname, "../../node_modules/.cache/bundles");

/** A control plane that launches into a namespace of its own. */
export async function startKubeControl(
  t: Cleaner,
  env: Readonly<Record<string, string>> = {},
): Promise<Lab & { readonly control: TestControl }> {
  const lab = await openLab(t);
  const settings = { OUTRIGGER_KUBECONFIG: lab.kubeconfig, OUTRIGGER_KUBERNETES_IMAGE: labImage };
  const control = await startControl(t, { env: { ...settings, ...env } });
  mkdirSync(packed, { recursive: true });
  symlinkSync(packed, join(control.home, "control/bundles"));
  return { ...lab, control };
}

/** A task for pods, which have the Node.js of this machine, so that none is brought to them. */
export const aPodTask = (run: string, more: object = {}): string =>
  JSON.stringify({
    run,
    resources: { infra: "k8s", cpus: 0.5, memory: 1 },
    config: { kubernetes: withMounts({}) },
    ...more,
  });

/** `config.kubernetes` of a task whose pods have the Node.js of this machine and more of its files, and a specification. */
export function withMounts(paths: Readonly<Record<string, string>>, more: object = {}) {
  const spec = mountsOf({ "/usr/local/bin/node": process.execPath, ...paths });
  return { pod_config: { spec: merge(spec, more) } };
}

const mountsOf = (paths: Readonly<Record<string, string>>) => {
  const all = Object.entries(paths).map(([mountPath, path], at) => ({
    mountPath,
    path,
    name: `m${at}`,
  }));
  return {
    containers: [
      {
        name: containerName,
        volumeMounts: all.map(({ name, mountPath }) => ({ name, mountPath })),
      },
    ],
    volumes: all.map(({ name, path }) => ({ name, hostPath: { path } })),
  };
};

/** Evicts a pod through the API. */
export async function evict(
  { control, kubectl, namespace }: Lab & { readonly control: TestControl },
  pod: string,
): Promise<void> {
  const file = join(control.home, `eviction-${pod}.json`);
  const kind = { apiVersion: "policy/v1", kind: "Eviction" };
  writeFileSync(file, JSON.stringify({ ...kind, metadata: { name: pod, namespace } }));
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`;
  await kubectl("create", "--raw", path, `--filename=${file}`);
}

/** A folder of this machine that each pod has as /out. */
export function outFolder(t: Cleaner, mounts: Readonly<Record<string, string>> = {}) {
  const path = mkdtempSync(join(tmpdir(), "pods-"));
  t.after(async () => rmSync(path, { recursive: true }));
  const withPods = (more: object) => withMounts({ "/out": path, ...mounts }, more);
  const at = (name: string) => join(path, name);
  return {
    /** `config.kubernetes` of tasks. */
    kubernetes: withPods({}),
    withPods,
    read: (name: string) => (existsSync(at(name)) ? readFileSync(at(name), "utf8") : ""),
    write: (name: string, text = "") => writeFileSync(at(name), text),
  };
}

/** A hook that leaves a line in the folder, and two in its log that name the pod. */
export const leavesLine = (event: string, { does = "sleep 1", timeout = 20 } = {}) => ({
  run: `echo ${event} $OUTRIGGER_NODE_RANK as $HOOK_EVENT >> /out/hooks
echo $HOSTNAME saving
${does}
echo $HOSTNAME saved`,
  events: [event],
  timeout,
});

/** What a task asks for that takes all accelerators of the lab. */
export const gpuResources = { infra: "k8s", accelerators: "H100:8", cpus: 0.5, memory: 1 };

/** A disk of one gibibyte for a claim of the storage class `lab`, until the test is over. */
export async function addDisk(
  t: Cleaner,
  { create, kubectl, namespace }: Lab,
  of = "disk",
): Promise<void> {
  const path = mkdtempSync(join(tmpdir(), "disk-"));
  chmodSync(path, 0o777);
  const name = `${namespace}-${of}`;
  await create({
    ...{ kind: "PersistentVolume", metadata: { name } },
    spec: {
      ...{ storageClassName: "lab", capacity: { storage: "1Gi" } },
      ...{ accessModes: ["ReadWriteOnce"], hostPath: { path } },
    },
  });
  t.after(async () => {
    await kubectl("delete", "persistentvolume", name, "--wait=false");
    rmSync(path, { recursive: true });
  });
}

/** Gives the node of the lab eight accelerators, until the test is over; null is without a label of their kind. */
export async function addGpus(
  t: Cleaner,
  { kubectl }: Lab,
  { label = "nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3" }: { label?: string | null } = {},
): Promise<void> {
  const at = (field: string) => `/status/${field}/nvidia.com~1gpu`;
  const patch = (entries: object[]) =>
    kubectl(
      "patch",
      "node",
      "lab1",
      "--subresource=status",
      "--type=json",
      `--patch=${JSON.stringify(entries)}`,
    );
  const fields = ["capacity", "allocatable"].map(at);
  await patch(fields.map((path) => ({ op: "add", path, value: "8" })));
  if (label !== null) await kubectl("label", "node", "lab1", label);
  t.after(async () => {
    await patch(fields.map((path) => ({ op: "add", path, value: "0" })));
    await kubectl("label", "node", "lab1", "nvidia.com/gpu.product-", "outrigger/accelerator-");
  });
}
