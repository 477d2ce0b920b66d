import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import { startControl } from "../helpers/programs.ts";
import { aTask } from "./cluster.ts";
import { hookedCluster, withHooks } from "./hooked.ts";

test("what comes while hooks run", { timeout: 300_000, concurrency: 2 }, async (t) => {
  const control = await startControl(t);
  const { client } = control;
  const printed = async (request: string, what: RegExp) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let text = "";
    const write = (bytes: Buffer) => {
      text += bytes.toString();
      if (what.test(text)) resolve();
    };
    void client.stream(request, { write, control() {} }).catch(() => {});
    await promise;
  };

  const cases = [
    t.test("a down makes a teardown of a stop, and no stop comes after it", async () => {
      const cluster = hookedCluster(control, "sharpened");
      const { hook, gated } = cluster;
      const first = hook("first", { events: ["stop"], does: gated });
      const dropped = hook("dropped", { events: ["stop"] });
      const taken = hook("taken", { events: ["down", "stop"], does: gated });
      await cluster.launch(withHooks([first, dropped, taken]));
      const stop = await cluster.begin("stop");
      await cluster.untilRan("first stop");

      const down = await cluster.begin("down");
      await assert.rejects(client.get(stop), /sharpened is being taken down meanwhile/);
      const { code, stderr } = await control.cli("stop", "-y", "sharpened");
      cluster.open();
      await client.get(down);

      assert.equal(code, 5);
      assert.match(stderr, /sharpened is being taken down \(down by ana\)/);
      assert.deepEqual(cluster.ran(), ["first stop", "taken down"]);
      const events = await cluster.events();
      assert.ok(events.some((line) => /hook 2 of 3 \(stop\) was skipped: .*down/.test(line)));
    }),
    t.test("a hook that hangs is left behind by --skip-hooks and by --purge", async () => {
      const cluster = hookedCluster(control, "skipped");
      const { hook } = cluster;
      const hangs = hook("hangs", { does: "sleep 1000" });
      await cluster.launch(withHooks([hangs, hook("after")]));
      const stop = await cluster.begin("stop");
      await cluster.untilRan("hangs stop");

      const skip = await control.cli("stop", "-y", "skipped", "--skip-hooks");
      await client.get(stop);
      assert.equal(skip.code, 0, skip.stderr);
      assert.equal(await cluster.status(), "STOPPED");
      assert.deepEqual(cluster.ran(), ["hangs stop"]);
      const [ended, passed] = (await cluster.events()).filter((line) => line.startsWith("hook"));
      assert.match(ended ?? "", /hook 1 of 2 \(stop\) was interrupted .*stop by ana/);
      assert.match(passed ?? "", /hook 2 of 2 \(stop\) was skipped: .*stop by ana/);

      await cluster.start();
      const down = await cluster.begin("down");
      await cluster.untilRan("hangs down");
      const purge = await control.cli("down", "-y", "skipped", "--purge");
      await client.get(down);
      assert.equal(purge.code, 0, purge.stderr);
      assert.equal(await cluster.status(), undefined);
      assert.deepEqual(cluster.ran(), ["hangs down"]);
    }),
    t.test("a stop whose request is cancelled is taken back; the next one is new", async () => {
      const cluster = hookedCluster(control, "kept");
      const { hook, gated } = cluster;
      const job = await cluster.launch(withHooks([hook("slow", { does: gated }), hook("next")]));
      const stop = await cluster.begin("stop");
      await cluster.untilRan("slow stop");
      await assert.rejects(cluster.exec(aTask("true")), /kept/);

      const { code } = await control.cli("api", "cancel", "-y", stop);
      assert.equal(code, 0);
      const exec = await until(() => cluster.exec(aTask("echo taken")).catch(() => undefined));
      assert.deepEqual(await cluster.follow(exec), { code: 0, text: "taken\n" });
      cluster.open();
      assert.equal(await cluster.status(), "UP");
      assert.equal(await cluster.jobStatus(job), "RUNNING");
      assert.deepEqual(cluster.ran(), ["slow stop"]);

      await cluster.stop();
      assert.deepEqual(cluster.ran(), ["slow stop", "next stop"]);
      await cluster.down();
    }),
    t.test("a launch waits for the stop, then starts the cluster again", async () => {
      const cluster = hookedCluster(control, "again");
      const { hook, gated } = cluster;
      await cluster.launch(withHooks([hook("old", { does: gated }), hook("late")]));
      const stop = await cluster.begin("stop");
      await cluster.untilRan("old stop");

      const task = withHooks([hook("new")], { run: "echo back" });
      const launch = await client.call(rows.launch, { cluster_name: "again", task });
      await printed(launch, /waits until cluster again is stopped \(stop by ana\)/);
      cluster.open();
      await client.get(stop);
      const { job_id: id } = await client.get(launch);

      assert.deepEqual(await cluster.follow(id ?? 0), { code: 0, text: "back\n" });
      assert.deepEqual(cluster.ran(), ["old stop", "late stop"]);
      await cluster.stop();
      assert.deepEqual(cluster.ran(), ["new stop"]);
      await cluster.down();
    }),
  ];
  await Promise.all(cases);
});
