import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type WebSocket, WebSocketServer } from "ws";
import { buildOf } from "../../common/programs.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Figure } from "./figures.ts";
import type { Control, Lab } from "./lab.ts";
import { cpuMs } from "./measure.ts";

const pods = 200;
/** Several looks at each cluster. */
const measureMs = 30_000;
/** As many as watches that end, whatever the number of pods. */
const callsAtMost = 5;
const launchesAtOnce = 8;

/** What control costs whose clusters all wait for a place on a Kubernetes that is full. */
export async function pendingPods(lab: Lab): Promise<Figure[]> {
  await using server = await startKubernetes(lab, "Pending");
  const { control, inputs } = await prepare(lab, server);
  for (const input of inputs) await control.client.call(rows.launch, input);
  while (server.pods.size < pods) await sleep(500, undefined, { signal: lab.signal });
  // Each launch watches its own pod for a while.
  await sleep(25_000, undefined, { signal: lab.signal });
  return await measure(lab, control, server, `${pods} pending pods`);
}

/** What control costs whose clusters are all up, with agents that have nothing to do; these are light fakes in one process. */
export async function runningPods(lab: Lab): Promise<Figure[]> {
  await using server = await startKubernetes(lab, "Running");
  const build = buildOf("agent", dirname(lab.bundle("agent")));
  const names = [...Array(pods).keys()].map(String);
  for (const name of names) mkdirSync(dirname(socketOf(server.agents, name)), { recursive: true });
  const agents = lab.load("ssh/idle-agents.ts", server.agents, build, ...names);
  await once(agents, "message", { signal: lab.signal });
  const { control, inputs } = await prepare(lab, server);
  const launchNext = async () => {
    for (let input = inputs.pop(); input !== undefined; input = inputs.pop())
      await control.client.callAndGet(rows.launch, input);
  };
  await Promise.all(Array.from({ length: launchesAtOnce }, launchNext));
  await sleep(10_000, undefined, { signal: lab.signal });
  return await measure(lab, control, server, `${pods} running pods`);
}

async function prepare(lab: Lab, { kubeconfig }: FakeKubernetes) {
  const settings = {
    OUTRIGGER_KUBECONFIG: kubeconfig,
    OUTRIGGER_KUBERNETES_PROVISION_SECONDS: "-1",
  };
  const control = await lab.control("bundle", lab.folder(), settings);
  const task = JSON.stringify({ resources: { infra: "k8s", cpus: 1 } });
  const inputs = [...Array(pods).keys()].map((at) => ({ cluster_name: `pod-${at}`, task }));
  return { control, inputs };
}

async function measure(lab: Lab, { pid }: Control, { calls }: FakeKubernetes, what: string) {
  calls.clear();
  const [cpuBefore, since] = [cpuMs(pid), performance.now()];
  await sleep(measureMs, undefined, { signal: lab.signal });
  const share = ((cpuMs(pid) - cpuBefore) / (performance.now() - since)) * 100;
  const counts = [...calls].map(([call, count]) => ({
    ...{ what: `${what}: ${call} in ${measureMs / 1_000} s`, measured: count, unit: "calls" },
    target: { atMost: callsAtMost },
  }));
  const target = { atMost: 5 };
  return [
    { what: `${what}: share of a core of control`, measured: share, unit: "%", target },
    ...counts,
  ];
}

type FakeKubernetes = Awaited<ReturnType<typeof startKubernetes>>;

const socketOf = (folder: string, name: string): string =>
  join(folder, name, ".outrigger/agent/agent.sock");

/** What the status of each pod is. */
const statuses = {
  Pending: {
    conditions: [{ type: "PodScheduled", status: "False", message: "Insufficient cpu" }],
  },
  Running: { conditions: [{ type: "PodScheduled", status: "True" }], podIP: "192.0.2.1" },
};

/** An API server with one node, whose pods are all in this phase at once. */
async function startKubernetes(lab: Lab, phase: keyof typeof statuses) {
  const [folder, agents] = [lab.folder(), lab.folder()];
  const made = new Map<string, object>();
  const calls = new Map<string, number>();
  const watchers = new Set<ServerResponse>();
  let version = 1;

  async function make(req: IncomingMessage): Promise<object> {
    const pod = (await json(req)) as { metadata: { name: string } };
    version += 1;
    const metadata = {
      ...pod.metadata,
      ...{ resourceVersion: String(version), uid: String(version) },
      creationTimestamp: new Date().toISOString(),
    };
    const object = { ...pod, metadata, status: { phase, ...statuses[phase] } };
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

  const sockets = new WebSocketServer({ noServer: true });
  const upgrade = (req: IncomingMessage, connection: Duplex, head: Buffer) => {
    const { pathname, searchParams } = new URL(req.url ?? "", "http://lab");
    const pod = pathname.split("/").at(-2) ?? "";
    const agent = socketOf(agents, String([...made.keys()].indexOf(pod)));
    sockets.handleUpgrade(req, connection, head, (socket) =>
      run(socket, searchParams.getAll("command"), agent),
    );
  };
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()));
  server.on("upgrade", upgrade);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(folder, "kubeconfig");
  const config = {
    "current-context": "full",
    clusters: [{ name: "full", cluster: { server: `http://127.0.0.1:${port}` } }],
    contexts: [{ name: "full", context: { cluster: "full" } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const end = async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
    server.closeAllConnections();
  };
  return { kubeconfig, pods: made, calls, agents, [Symbol.asyncDispose]: end };
}

/** Does what control's scripts do in a pod that has Node.js, as far as control sees it. */
function run(socket: WebSocket, command: readonly string[], agent: string): void {
  const [, , script = "", , , bytes = "0"] = command;
  const say = (channel: number, text: string | Buffer) =>
    socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]));
  const succeed = () => {
    say(3, JSON.stringify({ status: "Success" }));
    socket.close();
  };
  if (script.includes("no agent was brought")) {
    pipe(socket, say, connect(agent));
    return;
  }
  if (script.includes("uname")) say(1, "x86_64\n/bin/node v24.21.0\n/lib64/ld-linux-x86-64.so.2\n");
  let missing = script.includes("tar") ? Number(bytes) : 0;
  if (missing === 0) succeed();
  socket.on("message", (frame: Buffer) => {
    missing -= frame.length - 1;
    if (missing === 0) succeed();
  });
}

/** Connects a command's streams with an agent. */
function pipe(socket: WebSocket, say: (channel: number, bytes: Buffer) => void, way: Socket): void {
  way.on("data", (bytes) => say(1, bytes));
  way.on("error", () => {});
  way.on("close", () => socket.close());
  socket.on("message", (frame: Buffer) => {
    if (frame[0] === 0) way.write(frame.subarray(1));
    else way.end();
  });
  socket.on("close", () => way.destroy());
}

const aNode = {
  metadata: { name: "n1" },
  spec: {},
  status: {
    allocatable: { cpu: "1000", memory: "4000Gi" },
    conditions: [{ type: "Ready", status: "True" }],
  },
};
