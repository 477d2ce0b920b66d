import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { findAgent, kill, startControl, type TestControl } from "../helpers/programs.ts";
import { type HookedCluster, hookedCluster, withHooks } from "./hooked.ts";

const seed = Number(process.env["KILL_SEED"] ?? randomInt(2 ** 31));
const rounds = Number(process.env["KILL_ROUNDS"] ?? 3);

/** Who dies, how long after the stop began or the kill before. */
interface Kill {
  readonly victim: "control" | "agent" | "both";
  readonly afterMs: number;
}
const anyKill: fc.Arbitrary<Kill> = fc.record({
  victim: fc.constantFrom<Kill["victim"][]>("control", "agent", "both"),
  afterMs: fc.noBias(fc.integer({ min: 0, max: 600 })),
});
const someKills = fc.array(anyKill, { minLength: 1, maxLength: 2 });

/** What hooks do once they have left their line. */
const endings = [
  "echo a; sleep 0.1",
  "exit 3",
  "setsid sleep 987 &",
  "sleep 0.2; echo b",
  "echo c",
];

test(`control and the agent are killed in a stop; KILL_SEED=${seed}`, {
  timeout: 300_000 + rounds * 20_000,
}, async (t) => {
  const control = await startControl(t);
  const cluster = hookedCluster(control, "demo");
  const hooks = endings.map((does, index) => cluster.hook(String(index), { does }));
  await cluster.launch(withHooks(hooks));

  let stops = 0;
  for (const kills of fc.sample(someKills, { seed, numRuns: rounds })) {
    stops += 1;
    const title = kills.map(({ victim, afterMs }) => `${victim} after ${afterMs} ms`).join(", ");
    await t.test(title, async () => {
      await cluster.start();
      const stop = await cluster.begin("stop");
      for (const one of kills) await carryOut(control, cluster, one);
      await control.client.get(stop);

      assert.equal(await cluster.status(), "STOPPED");
      await assertWhole(cluster, stops);
    });
  }
});

async function carryOut(
  control: TestControl,
  cluster: HookedCluster,
  { victim, afterMs }: Kill,
): Promise<void> {
  const node = await cluster.nodeHome();
  await sleep(afterMs);
  const agent = victim === "control" ? undefined : findAgent(node);
  if (agent !== undefined) kill(agent);
  if (victim === "agent") return;
  await control.end("SIGKILL");
  await control.start();
}

/**
 * Each entry ran once, or has a line that says why it did not; each has one event a stop; control has
 * the whole of what the node has.
 */
async function assertWhole(cluster: HookedCluster, stops: number): Promise<void> {
  const began = cluster.ran();
  const { text } = await cluster.hookLog("stop");
  const events = await cluster.events();
  for (const index of endings.keys()) {
    const starts = began.filter((line) => line === `${index} stop`).length;
    const warnings = text.split(`[outrigger] hook ${index + 1} of 5 (stop) `).slice(1);
    const isTold = warnings.some((line) => !line.startsWith("left"));
    assert.ok(starts === 1 || (starts === 0 && isTold), `hook ${index} began ${starts} times`);
    assert.equal(isTold, index === 1 || starts === 0, text);
    const told = events.filter((line) => line.startsWith(`hook ${index + 1} of 5 (stop) `));
    assert.equal(told.length, stops, `events of hook ${index}`);
  }
  const node = join(await cluster.nodeHome(), ".outrigger/hooks/stop.log");
  assert.equal(text, readFileSync(node, "utf8"));
}
