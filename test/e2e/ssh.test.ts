import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as clusterRows } from "../../contract/operations/clusters.ts";
import { agentClient, until } from "../helpers/agent.ts";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();
const place = { resources: { infra: "ssh/lab" } };
/** In a language that every machine has. */
const httpServer = `
my $server = IO::Socket::INET->new(LocalAddr => $ARGV[0], LocalPort => $ARGV[1], Listen => 9);
while (my $client = $server->accept) {
  sysread $client, my $request, 4096;
  print $client "HTTP/1.0 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok";
}`;
const patient = "echo begun; until [ -e ~/go ]; do sleep 0.05; done; echo over";

async function connectTo(address: string): Promise<void> {
  const socket = connect(Number(address.split(":")[1]), "127.0.0.1");
  await once(socket, "connect").finally(() => socket.destroy());
}

test("a pool of hosts, from its deployment to its end", { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t, [{}, { node: true }, { node: true }]);
  const { control, hosts } = lab;
  const pair = clusterOf(control, "pair");
  const homes = hosts.map(({ disk }) => join(disk, "home/ana"));
  const agentsOn = async () =>
    Promise.all(
      hosts.map(({ run }) => run("pgrep -u ana -cf '^/[^ ]*/node .*/agent.mjs$' || true")),
    );

  /** All that is on the disk of a host, but the programs that it shares with us. */
  const listFiles = async ({ run }: SshHost) =>
    (await run("find / -xdev -path /.upper -prune -o -path /.work -prune -o -print")).split("\n");
  const filesBefore = await Promise.all(hosts.map(listFiles));
  const bundlesOn = ({ run }: SshHost) => run("stat -c '%n %i %Z' /home/ana/.outrigger/bundles/*");

  let forwarded = "";
  const hostOf = async (rank: number): Promise<SshHost> => {
    const { reason } = await lab.status();
    const [, address] = new RegExp(`^(\\S+): node ${rank} of pair `, "m").exec(reason) ?? [];
    return hosts.find((host) => host.address === address) ?? assert.fail(reason);
  };
  const reasonOf = async (id: number) =>
    (await pair.queue()).find(({ job_id }) => job_id === id)?.metadata["reason"];
  const hookLog = async (event: string) =>
    (await control.cli("logs", "--hook", event, "pair")).stdout;

  await t.test("deploying makes every host ready, and again sends nothing", async () => {
    const cold = await lab.run("deploy");
    assert.equal(cold.error, null, cold.text);
    for (const { address } of hosts)
      assert.match(cold.text, new RegExp(`lab/${address}: ready in [\\d.]+ s \\(Linux x86_64, `));
    const sent = await Promise.all(hosts.map(bundlesOn));
    assert.equal((await lab.run("deploy")).error, null);
    assert.deepEqual(await Promise.all(hosts.map(bundlesOn)), sent);
    const { status, reason } = await lab.status();
    assert.equal(status, "Ready");
    assert.equal(reason.match(/: free \(/g)?.length, 3);
  });

  await t.test("the command line writes a pool down with its key, and says how it is", async () => {
    const [{ address = "", key = "" } = {}] = hosts;
    writeFileSync(join(control.home, "id"), key, { mode: 0o600 });
    const pools = { other: { user: "ana", identity_file: "id", hosts: [address] } };
    writeFileSync(join(control.home, "pools.yaml"), JSON.stringify(pools));

    const up = await control.cli("ssh", "up", "-f", "pools.yaml");
    assert.equal(up.code, 0, up.stderr);
    assert.match(up.stdout, new RegExp(`^other/${address}: ready in `));
    assert.equal((await control.cli("ssh", "keys")).stdout, "NAME\nid\n");
    const { stdout } = await control.cli("ssh", "status", "other");
    assert.match(stdout, new RegExp(`^other +${address} +Ready +free \\(Linux`, "m"));
    const forget = await fetch(`${control.endpoint}/ssh_node_pools/other`, { method: "DELETE" });
    assert.equal(forget.status, 200);
  });

  await t.test(
    "a cluster takes as many hosts as it has nodes, and its jobs run there",
    async () => {
      const setup = "echo 'case $- in *i*) ;; *) return ;; esac; export SEEN=set' > ~/.bashrc";
      const run = "echo $SEEN $(ip -4 -o addr show eth0); echo made > ~/made; rm ~/.bashrc";
      const config = { hooks: [{ run: "echo for $HOOK_EVENT on $(cat ~/made)" }] };
      const resources = { ...place.resources, ports: [8080, 8081] };
      const id = await pair.launch(aTask(run, { num_nodes: 2, setup, config, resources }));
      const { code, text } = await pair.follow(id);
      assert.equal(code, 0, text);
      for (const [rank, name] of ["head", "worker1"].entries()) {
        const { address } = await hostOf(rank);
        assert.match(text, new RegExp(`^\\(${name}, rank=${rank}\\) set .* ${address}/`, "m"));
      }
      assert.equal((await lab.status()).reason.match(/: free \(/g)?.length, 1);
    },
  );

  await t.test("shells open on its hosts, through control", async () => {
    const ran = await control.cli("shell", "pair", "-n", "1", "--", "whoami; hostname -I; exit 3");

    assert.deepEqual([ran.code, ran.stderr], [3, ""]);
    assert.match(ran.stdout, new RegExp(`^ana\n.*${(await hostOf(1)).address}`));
  });

  await t.test("a rank that fails ends the other, and its reason is told", async () => {
    const run = "echo begun; [ $OUTRIGGER_NODE_RANK = 0 ] || exit 9; sleep 1000";
    const id = await pair.exec(aTask(run, { num_nodes: 2 }));
    const { code, text } = await pair.follow(id);
    assert.equal(code, 100);
    assert.match(text, /^\(worker1, rank=1\) begun$/m);
    assert.equal(await reasonOf(id), "rank 1: run exited with 9");
    assert.equal(await (await hostOf(0)).run("pgrep -c sleep -u ana || true"), "0");
  });

  await t.test(
    "a worker that is taken away runs its hooks, and control has their log",
    async () => {
      const socket = join((await hostOf(1)).disk, "home/ana/.outrigger/agent/agent.sock");
      const worker = agentClient(t, socket);
      const { id } = await worker.call("preempt", {
        because: "sold",
        deadlineAt: Date.now() + 9e4,
      });
      const { stdout } = await control.cli("logs", "--hook", "preemption", "pair");
      assert.equal(stdout, "(rank 1) for preemption on made\n");
      await worker.call("cancelLifecycle", { id });
      await until(async () => {
        const again = await pair.exec(aTask("true", { num_nodes: 2 })).catch(() => undefined);
        return again && (await pair.follow(again)).code === 0 ? true : undefined;
      });
    },
  );

  await t.test("ports are reached directly, or else through the connection", async () => {
    const serve = `perl -MIO::Socket::INET -e '${httpServer}'`;
    const id = await pair.exec(aTask(`${serve} 127.0.0.1 8081 & ${serve} 0.0.0.0 8080`));
    const { address, run: runOn } = await hostOf(0);
    await until(() =>
      runOn("[ $(ss -ltn | grep -c ':808[01] ') = 2 ]").then(
        () => true as const,
        () => undefined,
      ),
    );
    const asked = { cluster: "pair", port: null };
    const found = await control.client.callAndGet(clusterRows.endpoints, asked);
    const [direct = "", through = ""] = [found["8080"], found["8081"]];
    assert.equal(direct, `${address}:8080`);
    assert.match(through, /^127\.0\.0\.1:\d+$/);
    for (const one of [direct, through]) assert.equal((await fetch(`http://${one}/`)).status, 200);
    assert.deepEqual(await control.client.callAndGet(clusterRows.endpoints, asked), found);
    await pair.cancel(id);
    await assert.rejects(fetch(`http://${through}/`));
    forwarded = through;
  });

  await t.test("another cluster gets what is left, and a third nothing", async () => {
    const single = clusterOf(control, "single");
    await single.launch(aTask("true", place));
    await assert.rejects(clusterOf(control, "none").launch(aTask("true", place)), {
      name: "ResourcesUnavailableError",
    });
    await single.down();
    assert.equal((await lab.status()).reason.match(/: free \(/g)?.length, 1);
  });

  await t.test("a stop ends what runs and keeps files; a start has the agents back", async () => {
    const id = await pair.exec(aTask("sleep 1000", { num_nodes: 2, ...place }));
    await pair.untilJob(id, "RUNNING");
    await pair.stop();
    await assert.rejects(connectTo(forwarded), { code: "ECONNREFUSED" });
    assert.equal(await hookLog("stop"), "for stop on made\n");
    assert.deepEqual((await agentsOn()).sort(), ["0", "0", "0"]);
    for (const { run } of hosts) assert.equal(await run("pgrep -c sleep -u ana || true"), "0");
    assert.equal(homes.filter((home) => existsSync(join(home, "made"))).length, 2);
    await pair.start();
    assert.deepEqual((await agentsOn()).sort(), ["0", "1", "1"]);
    assert.equal((await pair.follow(await pair.exec(aTask("cat ~/made")))).text, "made\n");
  });

  await t.test("an agent that crashes is started again where it was; jobs go on", async () => {
    const id = await pair.exec(aTask(patient));
    await pair.untilJob(id, "RUNNING");
    for (const { run } of hosts)
      await run("pkill -KILL -u ana -f '^/[^ ]*/node .*/agent.mjs$' || true");
    await until(async () => ((await agentsOn()).sort().join() === "0,1,1" ? true : undefined));
    for (const { run } of hosts) await run("touch /home/ana/go");
    const { code, text } = await pair.follow(id);
    assert.deepEqual([code, text], [0, "begun\nover\n"]);
  });

  await t.test("a worker whose machine is given up is replaced alone", async () => {
    const [head, worker] = [await hostOf(0), await hostOf(1)];
    for (const { run } of hosts) await run("rm -f /home/ana/go");
    const onHead = await pair.exec(aTask(patient));
    const onBoth = await pair.exec(aTask("touch ~/both; sleep 1000", { num_nodes: 2 }));
    await pair.untilJob(onHead, "RUNNING");
    const hasBegun = ({ disk }: SshHost) => existsSync(join(disk, "home/ana/both"));
    await until(() => (hasBegun(head) && hasBegun(worker)) || undefined);
    const followed = [pair.follow(onHead), pair.follow(onBoth)] as const;

    await lab.put(hosts.map((host) => ({ host, more: host === worker ? { drain: "now" } : {} })));
    assert.equal((await followed[1]).code, 100);
    await pair.untilStatus("UP");
    assert.equal(await reasonOf(onBoth), "rank 1: node 1 was lost");
    assert.equal(await hostOf(0), head);
    assert.notEqual(await hostOf(1), worker);
    await head.run("touch /home/ana/go");
    assert.deepEqual(await followed[0], { code: 0, text: "begun\nover\n" });
    await until(
      async () => (await worker.run("pgrep -c sleep -u ana || true")) === "0" || undefined,
    );
    const { text } = await pair.follow(await pair.exec(aTask("echo on both", { num_nodes: 2 })));
    assert.match(text, /\(worker1, rank=1\) on both/);
  });

  await t.test("another pool has its machine too, and can take nothing away from it", async () => {
    const { address, key, run: runOn } = await hostOf(0);
    writeFileSync(join(control.home, "id2"), key, { mode: 0o600 });
    const pools = { other: { user: "ana", identity_file: "id2", hosts: [address] } };
    writeFileSync(join(control.home, "pools.yaml"), JSON.stringify(pools));
    await runOn("rm -f /home/ana/go");
    const id = await pair.exec(aTask(patient));
    await pair.untilJob(id, "RUNNING");

    assert.equal((await control.cli("ssh", "up", "-f", "pools.yaml")).code, 0);
    const { code, stdout } = await control.cli("ssh", "down", "other");

    assert.equal(code, 0);
    assert.match(stdout, /^other\/\S+: clean in \S+ s \(its files stay for lab\/\S+\)$/m);
    await runOn("touch /home/ana/go");
    assert.deepEqual(await pair.follow(id), { code: 0, text: "begun\nover\n" });
  });

  await t.test("down gives the hosts back, without a trace of the cluster", async () => {
    await assert.rejects(async () => {
      const { error } = await lab.run("down");
      throw new Error(error ?? "");
    }, /pool lab is used by pair; take that down first/);
    await pair.down();
    assert.equal(await hookLog("down"), "for down on made\n");
    assert.deepEqual(await agentsOn(), ["0", "0", "0"]);
    for (const home of homes)
      if (existsSync(join(home, ".outrigger")))
        assert.deepEqual(
          readdirSync(join(home, ".outrigger")).sort(),
          ["bundles", "cache"].filter((name) => existsSync(join(home, ".outrigger", name))),
        );
  });

  await t.test("cleaning up leaves the hosts as they were", async () => {
    const { code, stdout, stderr } = await control.cli("ssh", "down", "lab");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^(lab\/\S+: clean in [\d.]+ s\n){3}$/);
    for (const { run } of hosts) await run("rm -f /home/ana/made /home/ana/go /home/ana/both");
    assert.deepEqual(await Promise.all(hosts.map(listFiles)), filesBefore);
    for (const { run } of hosts)
      assert.equal(await run("ps -u ana -o args= | grep -v ^sshd: || true"), "");
    assert.equal((await lab.status()).status, "Not Ready");
  });
});
