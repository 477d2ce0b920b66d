import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { pino } from "pino";
import { endTree } from "../../../common/end-processes.ts";
import { readConfig } from "../../../control/config.ts";
import { localProvider } from "../../../control/providers/local.ts";
import { localNetworks, whyNoNamespaces } from "../../../control/providers/local-network.ts";
import type { NodeState } from "../../../control/providers/provider.ts";
import { agentClient, aNode, aSubmission, until } from "../../helpers/agent.ts";
import { aCluster } from "../../helpers/clusters.ts";
import { namespacesOf, whyNoNamespacesHere as skip } from "../../helpers/namespaces.ts";
import { asNobody, canBeNobody } from "../../helpers/nobody.ts";

const execute = promisify(execFile);
const port = 8_080;

/** A home whose nodes and networks are gone once the test is over. */
function aHome(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), "apart-"));
  const config = readConfig({ OUTRIGGER_HOME: home, PATH: process.env["PATH"] });
  t.after(async () => {
    for (const name of listFolder(join(home, "nodes")))
      await endTree({ roots: [], mark: `HOME=${join(home, "nodes", name)}` }, 0);
    for (const name of namespacesOf(home)) await execute("ip", ["netns", "del", name]);
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  });
  return { home, config };
}

/** A cluster whose nodes have networks of their own. */
function apart(id: string) {
  const cluster = aCluster({ id });
  return { ...cluster, offer: { ...cluster.offer, network: "own" as const } };
}

const fileOf = (networks: ReturnType<typeof localNetworks>, nodeId: string): string =>
  (networks.within(nodeId, [])[1] ?? "").replace("--net=", "");

const linkAt = (address: string): string =>
  execFileSync("ip", ["-brief", "addr", "show", "to", `${address}/30`], { encoding: "utf8" });

/** What the server on a node answers, once it does. */
const answerAt = (place: string): Promise<string> =>
  until(() =>
    fetch(`http://${place}`).then(
      (answer) => answer.text(),
      () => undefined,
    ),
  );

test("two nodes listen on the same port, each with an address of its own", { skip }, async (t) => {
  const { home, config } = aHome(t);
  const provider = localProvider(config, pino({ level: "silent" }));
  const clusters = [apart("c1"), apart("c2")];
  for (const cluster of clusters) await provider.create(cluster, 0, t.signal);
  for (const { id } of clusters) {
    const agent = agentClient(t, join(home, "nodes", `${id}-0`, ".outrigger/agent/agent.sock"));
    await until(() => agent.call("configure", aNode()).catch(() => undefined));
    await agent.call("submit", aSubmission(serving(id)));
  }
  const placesOf = async (cloud: typeof provider) => {
    const nodes = await Promise.all(clusters.map((one) => cloud.list(one, t.signal)));
    return Promise.all(nodes.flat().map((node: NodeState) => cloud.endpoint(node, port)));
  };
  const places = await placesOf(provider);

  await t.test("from where control runs", async () => {
    assert.equal(new Set(places).size, 2);
    assert.deepEqual(await Promise.all(places.map(answerAt)), ["c1", "c2"]);
  });

  await t.test("also for a control that starts anew, and creates them again", async () => {
    const restarted = localProvider(config, pino({ level: "silent" }));
    for (const cluster of clusters) await restarted.create(cluster, 0, t.signal);

    assert.deepEqual(await placesOf(restarted), places);
    assert.deepEqual(await Promise.all(places.map(answerAt)), ["c1", "c2"]);
  });

  await t.test("until one stops, and again once it is started", async () => {
    const [first] = clusters;
    assert.ok(first !== undefined);
    await provider.stop?.("c1-0", t.signal);
    const [stopped] = await provider.list(first, t.signal);
    assert.deepEqual([stopped?.state, stopped?.address], ["stopped", "node.invalid"]);
    assert.equal(linkAt(places[0]?.split(":")[0] ?? ""), "");

    await provider.create(first, 0, t.signal);
    const [started] = await provider.list(first, t.signal);
    assert.equal(started?.state, "running");
    assert.notEqual(linkAt(started?.address ?? ""), "");
  });

  await t.test("and nothing of it is left once they are destroyed", async () => {
    const links = (await placesOf(provider)).map((one) => one.split(":")[0] ?? "");
    const networks = localNetworks(config);
    for (const { id } of clusters) await provider.destroy(`${id}-0`, t.signal);

    assert.deepEqual(links.map(linkAt), ["", ""]);
    for (const { id } of clusters) assert.ok(!existsSync(fileOf(networks, `${id}-0`)));
    assert.deepEqual(listFolder(join(home, "networks")), []);
    await provider.destroy("c1-0", t.signal);
  });
});

const cutLink = `cut${process.pid}`;

/** Each way in which control can have died while it made or took away a network. */
const cuts: Record<string, (ip: Ip, name: string) => Promise<void>> = {
  "the namespace was made": async (ip, name) => {
    await ip("netns", "add", name);
  },
  "the link was made": async (ip, name) => {
    await ip("netns", "add", name);
    await ip("link", "add", cutLink, "type", "veth", "peer", "name", "eth0", "netns", name);
  },
  "the name was made, and no namespace": async (_ip, name) => {
    writeFileSync(join("/run/netns", name), "");
  },
};
type Ip = (...words: string[]) => Promise<unknown>;

for (const [when, make] of Object.entries(cuts))
  test(`a network that was cut off when ${when} is made anew, and goes`, { skip }, async (t) => {
    const { home, config } = aHome(t);
    const networks = localNetworks(config);
    const nodeId = "c1-0";
    const file = fileOf(networks, nodeId);
    const ip: Ip = (...words) => execute("ip", words);
    // Has /run/netns made, as whoever was first did.
    await networks.open("c0-0");
    const name = basename(file);

    await make(ip, name);
    assert.equal(networks.addressOf(nodeId), undefined);
    await networks.open(nodeId);
    assert.equal(await answerOf(networks, nodeId), "served");

    await networks.close(nodeId);
    await make(ip, name);
    await networks.close(nodeId);
    assert.ok(!existsSync(file));
    await assert.rejects(ip("link", "show", cutLink));
    assert.deepEqual(readdirSync(join(home, "networks")), ["c0-0"]);
  });

/** How a machine that begins anew forgets a namespace: with its name, or all but that. */
const reboots: Record<string, (file: string) => Promise<unknown>> = {
  "and its name": (file) => execute("ip", ["netns", "del", basename(file)]),
  "but not its name": (file) => execute("umount", [file]),
};

for (const [what, reboot] of Object.entries(reboots))
  test(`a network that a reboot took away, ${what}, is made anew`, { skip }, async (t) => {
    const { config } = aHome(t);
    const networks = localNetworks(config);
    await networks.open("c1-0");
    await reboot(fileOf(networks, "c1-0"));
    const address = networks.addressOf("c1-0") ?? "";
    // The kernel takes its time with a namespace that nobody has any more.
    await until(() => linkAt(address) === "" || undefined);

    await networks.open("c1-0");

    assert.equal(await answerOf(networks, "c1-0"), "served");
  });

test("nodes of the same name in two homes have networks of their own", { skip }, async (t) => {
  const all = [aHome(t), aHome(t)].map(({ config }) => localNetworks(config));

  await Promise.all(all.map((networks) => networks.open("c1-0")));

  const [one, other] = all.map((networks) => networks.addressOf("c1-0"));
  assert.notEqual(one, other);
  assert.deepEqual(await Promise.all(all.map((each) => answerOf(each, "c1-0"))), [
    "served",
    "served",
  ]);
});

test("a subnet that somebody else takes at the same moment is left to them", {
  skip,
}, async (t) => {
  const { home, config } = aHome(t);
  const networks = localNetworks(config);
  await networks.open("c1-0");
  const before = networks.addressOf("c1-0") ?? "";
  const [link = ""] = linkAt(before).split("@");
  await networks.close("c1-0");
  await execute("ip", ["link", "add", link, "type", "veth", "peer", "name", `o${process.pid}`]);
  t.after(() => execute("ip", ["link", "del", link]));

  await networks.open("c1-0");

  assert.notEqual(networks.addressOf("c1-0"), before);
  assert.equal(linkAt(before), "");
  assert.deepEqual(readdirSync(join(home, "networks")), ["c1-0"]);
});

/** Opens a network and prints where it leads. */
const printsRoutes = `
  import { execFileSync } from "node:child_process";
  import { localNetworks } from "${join(import.meta.dirname, "../../../control/providers/local-network.ts")}";
  const networks = localNetworks({ home: process.argv[2], nodeEnv: {} });
  await networks.open("c1-0");
  const [file, ...words] = networks.within("c1-0", ["ip", "-4", "route"]);
  console.log(execFileSync(file, words, { encoding: "utf8" }));
`;

test("a way out leads to a machine that forwards, and to no other", { skip }, async (t) => {
  const { home } = aHome(t);
  const script = join(home, "prints-routes.mjs");
  writeFileSync(script, printsRoutes);
  /** Among networks of their own, as whether a machine forwards is about these. */
  const routesWhere = async (forward: 0 | 1) => {
    const run = `echo ${forward} > /proc/sys/net/ipv4/ip_forward; exec "$0" "$@"`;
    const words = ["--net", "bash", "-c", run, process.execPath, script, join(home, `${forward}`)];
    t.after(async () => {
      for (const name of namespacesOf(join(home, `${forward}`)))
        await execute("ip", ["netns", "del", name]);
    });
    return (await execute("unshare", words)).stdout;
  };

  assert.match(await routesWhere(1), /^default via 10\.213\.\d+\.\d+ dev eth0/m);
  const routes = await routesWhere(0);
  assert.match(routes, /^10\.213\.\d+\.\d+\/30 dev eth0/m);
  assert.doesNotMatch(routes, /default/);
});

test("what keeps a machine from giving networks is said, and what to do", async () => {
  const root = "Name:\tnode\nCapEff:\t000001ffffffffff\n";
  const user = "Name:\tnode\nCapEff:\t0000000000000000\n";
  const whyOf = (status: string, ...missing: string[]) => whyNoNamespaces({ status, missing });

  assert.equal(whyOf(root), undefined);
  assert.equal(whyOf(""), "network namespaces need Linux");
  assert.equal(whyOf(user), "control must run as root, with CAP_NET_ADMIN and CAP_SYS_ADMIN");
  assert.match(whyOf("CapEff:\t00000000a80425fb\n") ?? "", /CAP_NET_ADMIN and CAP_SYS_ADMIN$/);
  assert.equal(whyOf(root, "ip"), "control finds no ip; install iproute2 and util-linux");
});

test("nodes of one cluster that could not reach one another are not offered", async (t) => {
  const { config } = aHome(t);
  const provider = localProvider(config, pino({ level: "silent" }));
  const need = { network: "own" as const, nodes: 2 };

  assert.match(
    provider.refusal?.(need) ?? "",
    /^replicas on this machine get no ports of their own: its 2 nodes could not reach one another; or have the server listen on \$PORT, .*use one replica, or use an SSH pool$/,
  );
  assert.deepEqual(await provider.offers(need, t.signal), []);
  assert.equal(provider.refusal?.({ ...need, infra: "ssh/lab" }), undefined);
  assert.equal(provider.refusal?.({ nodes: 2 }), undefined);
});

test("without root, replicas with ports of their own are refused with what to do", {
  skip: !canBeNobody,
}, async () => {
  const refusal = await asNobody(
    { localProvider: "control/providers/local.ts" },
    `return localProvider({ home: "/none", nodeEnv: {} }, {}).refusal({ network: "own" });`,
  );

  assert.equal(
    refusal,
    "replicas on this machine get no ports of their own: control must run as root, with CAP_NET_ADMIN and CAP_SYS_ADMIN; or have the server listen on $PORT, which differs between replicas (without `isolation: netns`), use one replica, or use an SSH pool",
  );
});

/** A job that answers with a word on the port that every such job has. */
const serving = (word: string): string =>
  `exec ${process.execPath} -e 'require("http").createServer((q, s) => s.end("${word}")).listen(${port})'`;

/** What a server within a node's network answers to one here. */
async function answerOf(networks: ReturnType<typeof localNetworks>, nodeId: string) {
  const [file = "", ...words] = networks.within(nodeId, ["bash", "-c", serving("served")]);
  const server = execFile(file, words);
  try {
    return await answerAt(`${networks.addressOf(nodeId)}:${port}`);
  } finally {
    server.kill("SIGKILL");
  }
}

const listFolder = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
