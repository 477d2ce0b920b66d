import assert from "node:assert/strict";
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";
import { aTask } from "./cluster.ts";
import { hookedCluster, withHooks } from "./hooked.ts";

test("hooks stay with their cluster", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = hookedCluster(control, "demo");
  const old = cluster.hook("old $MODE");
  const stopsWith = async (...ran: string[]) => {
    await cluster.stop();
    assert.deepEqual(cluster.ran(), ran);
  };

  await t.test("an exec, a stop and a restart of control leave them alone", async () => {
    await cluster.launch(withHooks([old], { run: "true", envs: { MODE: "first" } }));
    await cluster.exec(withHooks([cluster.hook("of exec")], { run: "true" }));
    await stopsWith("old first stop");
    await control.end("SIGTERM");
    await control.start();
    await cluster.start();
    await stopsWith("old first stop");
  });

  await t.test("a launch without a list keeps them, and what they run in", async () => {
    await cluster.launch(aTask("true", { envs: { MODE: "second" } }));
    await stopsWith("old first stop");
  });

  await t.test("another list takes their place, an empty one clears them", async () => {
    await cluster.launch(withHooks([cluster.hook("new"), old], { run: "true" }));
    await cluster.launch(withHooks([cluster.hook("newest")], { run: "true" }));
    await stopsWith("newest stop");
    await cluster.launch(withHooks([], { run: "true" }));
    await stopsWith();
  });

  await t.test("a stop that the provider fails is repeated without them", async () => {
    await cluster.launch(withHooks([old], { run: "true" }));
    const inTheWay = join(await cluster.nodeHome(), "node.json.new");
    mkdirSync(inTheWay);
    await assert.rejects(cluster.stop(), { type: "CloudError" });
    await assert.rejects(cluster.stop(), { type: "CloudError" });
    rmdirSync(inTheWay);
    await stopsWith("old  stop");

    const events = await cluster.events();
    assert.ok(events.some((line) => line.startsWith("failed: this machine is not available now")));
  });
});
