import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { openJobLogs } from "../../../control/jobs/log-copies.ts";
import { openWorks } from "../../../control/jobs/log-works.ts";
import { until } from "../../helpers/agent.ts";
import { withJob } from "./bed.ts";

test("of each log at most one copy goes on, whatever is begun, joined, left and ended at once", async () => {
  const works = openWorks();
  let [begun, now, most] = [0, 0, 0];
  const copy = async (signal: AbortSignal) => {
    begun += 1;
    now += 1;
    most = Math.max(most, now);
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => void setImmediate().then(resolve));
    await promise;
    now -= 1;
    throw signal.reason;
  };
  const isOn = () => until(() => now === 1 || undefined);

  works.read("log", copy);
  works.read("log", copy);
  await isOn();
  assert.equal(begun, 1);
  const one = works.follow("log", copy);
  await until(() => begun === 2 || undefined);
  const other = works.follow("log", copy);
  for (const _ of [1, 2, 3, 4]) await setImmediate();
  assert.equal(begun, 2);
  const whole = assert.rejects(works.whole("log", copy), { name: "AbortError" });
  const late = works.follow("log", copy);
  await until(() => begun === 3 || undefined);
  for (const leaving of [one, other, late]) leaving[Symbol.dispose]();
  await isOn();
  await Promise.all([works.end("log"), works.end("log"), whole]);

  assert.deepEqual([begun, now, most], [3, 0, 1]);
});

test("two followers of a log have it read once; the whole of it is read alone, until it is dropped", async (t) => {
  const bed = await withJob(t);
  const { node } = await bed.agent(1);
  let [followers, begun] = [0, 0];
  Object.defineProperty(node, "followers", {
    get: () => followers,
    set(now: number) {
      if (now > followers) begun += 1;
      followers = now;
    },
  });
  const task = await bed.task(1);
  const logs = openJobLogs(() => bed.world.ctx);
  t.after(logs.stop);

  using _one = logs.follow(task);
  await until(() => followers > 0 || undefined);
  using _other = logs.follow(task);
  const whole = assert.rejects(
    logs.whole(task, { silentMs: 60_000, isOver: false }, AbortSignal.timeout(60_000)),
  );
  await until(() => (begun === 2 && followers === 1) || undefined);
  using _late = logs.follow(task);
  await Promise.all([logs.drop(task), whole]);

  await until(() => followers === 0 || undefined);
  assert.equal(begun, 2);
});
