import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import { buildOf } from "../helpers/old-build.ts";
import { freezeAgent, listNodeHomes } from "../helpers/programs.ts";
import { whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { aService, clientOf, serviceOf, unharmed, untilAnswered } from "./service.ts";
import { openLab } from "./ssh-lab.ts";

/** The last commit before leases, attempts and refused offers were rows. */
const before = "5ad10053ff2fbaaa1250bc6bd8c5341beb4a37fe";

test("an upgrade keeps clusters, services and pools under way", {
  skip: whyNoHosts(),
  timeout: 300_000,
}, async (t) => {
  const bundles = buildOf(t, before);
  const lab = await openLab(t, [{ node: true }], {}, bundles);
  const { control } = lab;
  const { home, client } = control;
  const file = (name: string) => join(home, name);
  const gated = (name: string) =>
    aTask(
      `echo ran >> ${file(name)}; until [ -e ${file("gate")} ]; do sleep 0.05; done; echo over`,
    );

  const local = clusterOf(control, "local");
  const localJob = await local.launch(gated("local-ran"));
  const deployed = await lab.run("deploy");
  assert.equal(deployed.error, null, deployed.text);
  const remote = clusterOf(control, "remote");
  const onHost = { resources: { infra: "ssh/lab" } };
  const remoteJob = await remote.launch(aTask("sleep 1; echo remote", onHost));
  const stopped = clusterOf(control, "stopped");
  await stopped.launch(aTask("true"));
  await stopped.stop();
  const service = serviceOf(control, "chat");
  const model = clientOf(t, await service.up(aService(control)));
  await service.untilReady(2);
  const nodes = listNodeHomes(home);
  const late = { cluster_name: "late", task: aTask(`echo ran >> ${file("late-ran")}`) };
  const launching = await client.call(rows.launch, late);
  const node = await until(() => listNodeHomes(home).find((one) => !nodes.includes(one)));
  const release = await freezeAgent(node, join(bundles, "agent.mjs"));

  await unharmed(model, "mixed", async (load) => {
    await control.end("SIGKILL");
    await untilAnswered(load, 10);
    await control.start();
    release();
    await service.untilReady(2);
  });

  await t.test("a launch that was under way ends, and its job ran once", async () => {
    const { job_id: job } = await client.get(launching);
    await clusterOf(control, "late").untilJob(Number(job), "SUCCEEDED");
    assert.equal(readFileSync(file("late-ran"), "utf8"), "ran\n");
  });
  await t.test("a job that ran before goes on, and its log is whole", async () => {
    writeFileSync(file("gate"), "");
    assert.deepEqual(await local.follow(localJob), { code: 0, text: "over\n" });
    assert.equal(readFileSync(file("local-ran"), "utf8"), "ran\n");
    assert.equal(await local.jobStatus(localJob), "SUCCEEDED");
  });
  await t.test("clusters of the pool and stopped ones take jobs", async () => {
    assert.equal((await remote.follow(remoteJob)).code, 0);
    for (const cluster of [remote, stopped]) {
      await cluster.start();
      assert.equal((await cluster.follow(await cluster.exec(aTask("echo new")))).code, 0);
    }
  });
  await t.test("a service is updated, and everything can be taken down", async () => {
    await service.update(aService(control, { model: "v2" }));
    await service.untilReady(2, 2);
    assert.equal((await model.who()).model, "v2");
    await service.down();
    for (const cluster of [local, remote, stopped, clusterOf(control, "late")])
      await cluster.down();
    assert.deepEqual(await client.callAndGet(rows.status, {}), []);
    assert.ok(!existsSync(node));
    assert.equal((await lab.run("down")).error, null);
  });
});
