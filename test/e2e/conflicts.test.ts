import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import { freezeAgent, listNodeHomes, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { hookedCluster, withHooks } from "./hooked.ts";

test("operations that meet on one cluster", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const { client, home } = control;
  const of = (name: string) => ({ cluster_name: name });

  await t.test("two launches of one name share the cluster; each has its job", async () => {
    const cluster = clusterOf(control, "shared");
    const ids = await Promise.all(
      ["one", "two"].map((word) => cluster.launch(aTask(`echo ${word}`))),
    );
    assert.deepEqual(ids.toSorted(), [1, 2]);
    const logs = await Promise.all(ids.map((id) => cluster.follow(id)));
    assert.deepEqual(logs, [
      { code: 0, text: "one\n" },
      { code: 0, text: "two\n" },
    ]);
    assert.equal(listNodeHomes(home).length, 1);
    await cluster.down();
  });

  await t.test("a stop while a launch is under way ends the launch, which says why", async () => {
    const cluster = clusterOf(control, "stopped");
    const launchAndStop = async () => {
      const launching = cluster.launch(aTask("true")).catch((error: Error) => error);
      await freezeAgent(await until(() => listNodeHomes(home)[0]));
      await cluster.stop();
      const outcome = await launching;
      assert.equal(await cluster.status(), "STOPPED");
      await cluster.down();
      return outcome;
    };

    const refused = await until(async () => {
      const outcome = await launchAndStop();
      // Where this process slept, the launch was over before.
      return typeof outcome === "number" ? undefined : outcome;
    });

    await assert.rejects(Promise.reject(refused), {
      type: "ClusterNotUpError",
      message: /cluster stopped is being stopped meanwhile \(stop by ana\)/,
    });
  });

  await t.test(
    "a start during a down is refused; a launch waits and gets a new cluster",
    async () => {
      const cluster = hookedCluster(control, "gone");
      await cluster.launch(withHooks([cluster.hook("slow", { does: cluster.gated })]));
      const [before] = listNodeHomes(home);
      const going = cluster.down();
      await cluster.untilRan("slow down");
      await assert.rejects(cluster.start(), {
        type: "ConflictError",
        message: /cluster gone is being taken down \(down by ana\)/,
      });
      await assert.rejects(cluster.stop(), { type: "ConflictError" });
      await assert.rejects(cluster.exec(aTask("true")), { type: "ClusterNotUpError" });
      const launch = await client.call(rows.launch, { ...of("gone"), task: aTask("true") });
      cluster.open();
      assert.equal((await client.get(launch)).job_id, 1);
      assert.equal(await going, null);
      assert.notEqual(listNodeHomes(home)[0], before);
      await cluster.down();
      await assert.rejects(cluster.down(), { type: "ClusterDoesNotExist" });
    },
  );

  await t.test("a start during a stop waits for its end", async () => {
    const cluster = clusterOf(control, "back");
    await cluster.untilJob(await cluster.launch(aTask("sleep 987")), "RUNNING");
    const stopping = client.call(rows.stop, of("back"));
    await until(async () => ((await cluster.status()) !== "UP" ? true : undefined));
    await cluster.start();
    assert.equal(await client.get(await stopping), null);
    assert.equal(await cluster.status(), "UP");
    await cluster.down();
  });
});

test("a cluster that cannot be had", { timeout: 300_000 }, async (t) => {
  // The agent's socket would have too long a path, so no node can be created.
  const control = await startControl(t, { homeLength: 90 });
  const cluster = clusterOf(control, "demo");
  const reason = { type: "CloudError", message: /too long a path/ };

  await t.test("is given up at once, and removed", async () => {
    await assert.rejects(cluster.launch(aTask("true")), reason);
    await cluster.untilStatus(undefined);
  });

  await t.test("is wanted on until it is taken down", async () => {
    const launching = assert.rejects(cluster.launch(aTask("true"), { retry_until_up: true }), {
      type: "ClusterNotUpError",
      message: /cluster demo is being taken down meanwhile \(down by ana\)/,
    });
    const told = async () => {
      const lines = await control.cli("logs", "demo", "--provision", "--no-follow");
      return /^failed: .*too long a path/m.test(lines.stdout) || undefined;
    };
    await until(told);
    assert.equal(await cluster.status(), "INIT");
    await cluster.down();
    await launching;
    assert.equal(await cluster.status(), undefined);
  });
});
