import assert from "node:assert/strict";
import { test } from "node:test";
import { startControl, whyNeverIdle } from "../helpers/programs.ts";
import { aTask } from "./cluster.ts";
import { hookedCluster } from "./hooked.ts";

const options = { skip: whyNeverIdle(), timeout: 300_000, concurrency: true };

test("the idle timer runs hooks", options, async (t) => {
  const control = await startControl(t);

  /** A cluster whose only job has ended, so that its time is over in a moment. */
  async function idle(name: string, { down = false, older = false, isGated = false } = {}) {
    const cluster = hookedCluster(control, name);
    const does = isGated ? cluster.gated : ":";
    const hook = { hook: `echo "older $HOOK_EVENT" >> ${cluster.left}`, hook_timeout: 60 };
    const resources = { autostop: { down, ...(older && hook) } };
    const hooks = [cluster.hook("first", { does }), cluster.hook("next", { does: "echo saved" })];
    const task = aTask("true", { resources, config: { hooks } });
    // A document's least time is a minute.
    await cluster.launch(task, { idle_minutes_to_autostop: 0, down });
    return cluster;
  }

  const cases = [
    ...[true, false].map((down) => {
      const event = down ? "down" : "stop";
      return t.test(`an older autostop.hook is the first one before a ${event}`, async () => {
        const cluster = await idle(`older-${event}`, { down, older: true });
        await cluster.untilRan(`next ${event}`);
        await cluster.untilStatus(down ? undefined : "STOPPED");

        assert.deepEqual(cluster.ran(), [`older ${event}`, `first ${event}`, `next ${event}`]);
        const { code, stdout } = await control.cli("logs", "--autostop", cluster.name);
        assert.deepEqual([code, stdout], [0, "saved\n"]);
        if (!down) await cluster.down();
      });
    }),
    t.test("autostop that is cancelled meanwhile keeps the cluster up", async () => {
      const cluster = await idle("cancelled", { isGated: true });
      await cluster.untilRan("first stop");
      await cluster.untilStatus("AUTOSTOPPING");

      const cancel = await control.cli("autostop", "-y", "--cancel", "cancelled");
      assert.equal(cancel.code, 0, cancel.stderr);
      assert.equal(await cluster.status(), "UP");
      const job = await cluster.exec(aTask("echo here"));
      assert.deepEqual(await cluster.follow(job), { code: 0, text: "here\n" });
      cluster.open();
      await cluster.down();
      assert.deepEqual(cluster.ran(), ["first stop", "first down", "next down"]);
    }),
    t.test("a launch that takes the stop back runs at once", async () => {
      const cluster = await idle("taken-back", { isGated: true });
      await cluster.untilRan("first stop");
      await cluster.untilStatus("AUTOSTOPPING");

      // Not idle again before we have looked.
      const words = ["launch", "-y", "-c", "taken-back", "-i", "60", "--cancel-stop"];
      const launch = await control.cli(...words, "echo still here");
      assert.match(launch.stdout, /still here/, launch.stderr);
      assert.equal(launch.code, 0);
      assert.equal(await cluster.status(), "UP");
      cluster.open();
      await cluster.down();
      assert.deepEqual(cluster.ran(), ["first stop", "first down", "next down"]);
    }),
  ];
  await Promise.all(cases);
});
