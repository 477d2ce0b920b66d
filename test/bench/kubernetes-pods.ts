import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { cpuMs } from "./measure.ts";

const pods = 200;
/** Several looks at each cluster. */
const measureMs = 30_000;
/** As many as watches that end, whatever the number of pods. */
const callsAtMost = 5;

/** What control costs whose clusters all wait for a place on a Kubernetes that is full. */
export async function kubernetesPods(lab: Lab): Promise<Figure[]> {
  const server = await startFullKubernetes(lab.folder());
  try {
    const settings = {
      OUTRIGGER_KUBECONFIG: server.kubeconfig,
      OUTRIGGER_KUBERNETES_PROVISION_SECONDS: "-1",
    };
    const { client, pid } = await lab.control("bundle", lab.folder(), settings);
    const task = JSON.stringify({ resources: { infra: "k8s", cpus: 1 }, run: "true" });
    for (let index = 0; index < pods; index += 1)
      await client.call(rows.launch, { cluster_name: `full-${index}`, task });
    while (server.pods.size < pods) await sleep(500, undefined, { signal: lab.signal });
    // Each launch watches its own pod for a while.
    await sleep(25_000, undefined, { signal: lab.signal });
    server.calls.clear();
    const [cpuBefore, since] = [cpuMs(pid), performance.now()];
    await sleep(measureMs, undefined, { signal: lab.signal });
    const share = ((cpuMs(pid) - cpuBefore) / (performance.now() - since)) * 100;
    const watched = `${pods} pending pods`;
    const calls = [...server.calls].map(([call, count]) => ({
      ...{ what: `${watched}: ${call} in ${measureMs / 1_000} s`, measured: count, unit: "calls" },
      target: { atMost: callsAtMost },
    }));
    const target = { atMost: 5 };
    return [
      { what: `${watched}: share of a core of control`, measured: share, unit: "%", target },
      ...calls,
    ];
  } finally {
    server.close();
  }
}

/** An API server with one node and a scheduler that has a place for no pod. */
async function startFullKubernetes(folder: string) {
  const made = new Map<string, object>();
  const calls = new Map<string, number>();
  const watchers = new Set<ServerResponse>();
  let version = 1;

  async function make(req: IncomingMessage): Promise<object> {
    const pod = (await json(req)) as { metadata: { name: string } };
    const conditions = [{ type: "PodScheduled", status: "False", message: "Insufficient cpu" }];
    version += 1;
    const metadata = {
      ...pod.metadata,
      ...{ resourceVersion: String(version), uid: String(version) },
      creationTimestamp: new Date().toISOString(),
    };
    const object = { ...pod, metadata, status: { phase: "Pending", conditions } };
    made.set(metadata.name, object);
    for (const watcher of watchers) watcher.write(`${JSON.stringify({ type: "ADDED", object })}\n`);
    return object;
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(req.url ?? "", "http://lab");
    const [, kind = "", name, more = ""] =
      /\/(pods|services|nodes|events)(?:\/([^/]+))?(\/\w+)?$/.exec(pathname) ?? [];
    const verb = searchParams.has("watch") ? "WATCH" : req.method;
    const call = `${verb} ${kind}${name ? "/NAME" : ""}${more}`;
    calls.set(call, (calls.get(call) ?? 0) + 1);
    const say = (object: object | undefined) =>
      res.writeHead(object ? 200 : 404).end(JSON.stringify(object ?? { reason: "NotFound" }));
    if (verb === "WATCH") {
      res.writeHead(200).flushHeaders();
      watchers.add(res);
      await sleep(1_000 * Number(searchParams.get("timeoutSeconds")));
      watchers.delete(res);
      const object = { metadata: { resourceVersion: String(version) } };
      return void res.end(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
    }
    if (verb === "POST")
      return void say(kind === "pods" ? await make(req) : ((await json(req)) as object));
    if (name !== undefined) return void say(made.get(name));
    const items = kind === "pods" ? [...made.values()] : kind === "nodes" ? [aNode] : [];
    say({ metadata: { resourceVersion: String(version) }, items });
  }

  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(folder, "kubeconfig");
  const config = {
    "current-context": "full",
    clusters: [{ name: "full", cluster: { server: `http://127.0.0.1:${port}` } }],
    contexts: [{ name: "full", context: { cluster: "full" } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { kubeconfig, pods: made, calls, close };
}

const aNode = {
  metadata: { name: "n1" },
  spec: {},
  status: {
    allocatable: { cpu: "1000", memory: "4000Gi" },
    conditions: [{ type: "Ready", status: "True" }],
  },
};
