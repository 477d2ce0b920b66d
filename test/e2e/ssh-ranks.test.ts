import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agentClient, until } from "../helpers/agent.ts";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();
const onTwo = { num_nodes: 2, resources: { infra: "ssh/lab" } };
/** Writes a program that lists GPUs, as the driver's own does. */
const twoGpus = "printf '#!/bin/sh\\necho GPU 0: NVIDIA L4\\necho GPU 1: NVIDIA L4\\n'";
const hooks = [
  { run: "echo $HOOK_EVENT >> ~/hooked", events: ["stop", "preemption", "down"] as const },
];

test("ranks on hosts of a pool", { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t, Array(3).fill({ node: true }));
  await (lab.hosts[2] as SshHost).run(
    `${twoGpus} > /usr/bin/nvidia-smi; chmod +x /usr/bin/nvidia-smi`,
  );
  assert.equal((await lab.run("deploy")).error, null);
  const pair = clusterOf(lab.control, "pair");
  const homeOf = ({ disk }: SshHost) => join(disk, "home/ana");
  const hookedOn = (host: SshHost) =>
    existsSync(join(homeOf(host), "hooked"))
      ? readFileSync(join(homeOf(host), "hooked"), "utf8")
          .trim()
          .split("\n")
      : [];
  let [head, worker, gpus] = lab.hosts as [SshHost, SshHost, SshHost];

  await t.test(
    "a task that asks for GPUs gets the host that has them, and its own of them",
    async () => {
      const asked = (accelerators: string) => ({ resources: { infra: "ssh/lab", accelerators } });
      const wide = clusterOf(lab.control, "wide");
      const run = "ip -4 -o addr show eth0; echo devices $CUDA_VISIBLE_DEVICES";
      await assert.rejects(wide.launch(aTask(run, asked("L4:4"))), {
        name: "ResourcesUnavailableError",
      });
      const { text } = await wide.follow(await wide.launch(aTask(run, asked("L4:2"))));
      assert.match(text, new RegExp(` ${gpus.address}/`));
      assert.match(text, /^devices 0,1$/m);
      await wide.down();
    },
  );

  await t.test("each is told the addresses of all, in their order", async () => {
    const run = "echo $OUTRIGGER_NODE_IPS; echo $MASTER_ADDR; ip -4 -o addr show eth0";
    const { text } = await pair.follow(
      await pair.launch(aTask(run, { ...onTwo, config: { hooks } })),
    );
    if (!new RegExp(`rank=0\\) .* ${head.address}/`).test(text)) [head, worker] = [worker, head];
    for (const [prefix, { address }] of [
      ["(head, rank=0)", head],
      ["(worker1, rank=1)", worker],
    ] as const) {
      const said = text.split("\n").filter((line) => line.startsWith(prefix));
      assert.deepEqual(said.slice(0, 2), [
        `${prefix} ${head.address} ${worker.address}`,
        `${prefix} ${head.address}`,
      ]);
      assert.match(said[2] ?? "", new RegExp(` ${address}/`));
    }
  });

  await t.test("none runs before all are set up", async () => {
    const setup =
      "touch ~/set; [ $OUTRIGGER_SETUP_NODE_RANK = 0 ] || until [ -e ~/ready ]; do sleep 0.02; done";
    const id = await pair.launch(aTask("touch ~/ran", { ...onTwo, setup }));
    await until(
      () =>
        (existsSync(join(homeOf(head), "set")) && existsSync(join(homeOf(worker), "set"))) ||
        undefined,
    );
    assert.equal(await pair.jobStatus(id), "SETTING_UP");
    assert.equal(existsSync(join(homeOf(head), "ran")), false);
    writeFileSync(join(homeOf(worker), "ready"), "");
    assert.equal((await pair.follow(id)).code, 0);
    for (const host of [head, worker]) assert.ok(existsSync(join(homeOf(host), "ran")));
  });

  await t.test(
    "what a worker prints while its SSH server is away comes once, under its name",
    async () => {
      const run =
        "echo begun; until [ -e ~/go ]; do echo at $((n += 1)); sleep 0.02; done; echo $n > ~/count";
      const id = await pair.exec(aTask(run, onTwo));
      const begins = Promise.withResolvers<void>();
      const followed = pair.follow(id, {}, begins.resolve);
      await begins.promise;
      await worker.ssh("down");
      await worker.run("touch /home/ana/go; until [ -e /home/ana/count ]; do sleep 0.02; done");
      await worker.ssh("up");
      await head.run("touch /home/ana/go");
      const { code, text } = await followed;
      assert.equal(code, 0);
      for (const [prefix, host] of [
        ["(head, rank=0) ", head],
        ["(worker1, rank=1) ", worker],
      ] as const) {
        const count = Number(readFileSync(join(homeOf(host), "count"), "utf8"));
        const said = text.split("\n").filter((line) => line.startsWith(prefix));
        const expected = [
          "begun",
          ...Array.from({ length: count }, (_, index) => `at ${index + 1}`),
        ];
        assert.deepEqual(
          said,
          expected.map((line) => prefix + line),
        );
      }
    },
  );

  await t.test("hooks run on the node that is taken, or on the head for all", async () => {
    const agent = agentClient(t, join(homeOf(worker), ".outrigger/agent/agent.sock"));
    const { id } = await agent.call("preempt", {
      because: "sold",
      deadlineAt: Date.now() + 90_000,
    });
    await until(() => hookedOn(worker).includes("preemption") || undefined);
    assert.deepEqual([hookedOn(head), hookedOn(worker)], [[], ["preemption"]]);
    await agent.call("cancelLifecycle", { id });
    await pair.stop();
    assert.deepEqual([hookedOn(head), hookedOn(worker)], [["stop"], ["preemption"]]);
    await pair.start();
    await pair.down();
    assert.deepEqual([hookedOn(head), hookedOn(worker)], [["stop", "down"], ["preemption"]]);
  });
});
