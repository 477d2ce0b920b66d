import assert from "node:assert/strict";
import { test } from "node:test";
import { type JobHolding, lackOf } from "../../../agent/jobs/waiting.ts";
import { startAgent, until } from "../../helpers/agent.ts";

const node = { cpus: 4, accelerators: { name: "H100", count: 2 } };
const held = (jobId: number, more: Partial<JobHolding>): JobHolding => ({
  ...{ jobId, cpus: 0, accelerators: 0, gpus: [] },
  ...more,
});
const tenths = Array.from({ length: 10 }, (_, index) => held(index + 1, { cpus: 0.4 }));

const lacks = [
  [{ cpus: 4 }, [], undefined],
  [{ cpus: 1 }, [held(3, { cpus: 4 })], "1 CPU: job 3 uses all 4"],
  [{ cpus: 2 }, [held(5, { cpus: 2 }), held(4, { cpus: 0.5 })], "2 CPUs: jobs 4, 5 use 2.5 of 4"],
  [{ cpus: 0.5 }, tenths, "0.5 CPU: jobs 1, 2, 3, 4, 5, 6, 7, 8 and 2 more use all 4"],
  [
    { accelerators: 2 },
    [held(9, { cpus: 1 }), held(3, { accelerators: 1, gpus: [0] })],
    "2 H100s: job 3 uses 1 of 2",
  ],
  [
    { accelerators: 0.6 },
    [held(3, { accelerators: 0.5, gpus: [0] }), held(4, { accelerators: 0.7, gpus: [1] })],
    "0.6 of one H100: jobs 3, 4 use 1.2 of 2",
  ],
] as const;

for (const [demand, holdings, lack] of lacks)
  test(`${JSON.stringify(demand)} lacks ${lack ?? "nothing"}`, () => {
    assert.equal(lackOf({ cpus: 0, accelerators: 0, ...demand }, node, holdings), lack);
  });

test("a queued job tells what it waits for and its place, alone and in the list, until it starts", async (t) => {
  const agent = await startAgent(t, { cpus: 2 });
  const gate = "while ! [ -e ~/go ]; do sleep 0.02; done";
  const takes = (cpus: number) => ({ demand: { cpus, accelerators: 0 } });
  for (const cpus of [0.5, 1]) await agent.submit(gate, takes(cpus));
  await agent.untilJob(2, "RUNNING");

  const third = await agent.submit("touch ~/third", takes(1));
  const fourth = await agent.submit("true", { ...takes(0.5), userId: "bob" });

  const why = "waits for 1 CPU: jobs 1, 2 use 1.5 of 2";
  const behind = `waits second in line, behind job 3, which ${why}`;
  assert.deepEqual([third.reason, fourth.reason], [why, behind]);
  assert.equal((await agent.call("getJob", { id: 4 })).reason, behind);
  const reasons = async (filter: object) =>
    (await agent.call("listJobs", filter)).map(({ reason }) => reason);
  assert.deepEqual(await reasons({}), [behind, why, null, null]);
  assert.deepEqual(await reasons({ limit: 1 }), [behind]);
  assert.deepEqual(await reasons({ user: "bob", limit: 1 }), [behind]);

  await agent.call("cancelJob", { id: 3 });
  assert.equal((await agent.untilJob(4)).reason, null);
  const { id } = await agent.submit(null, takes(2));
  await agent.call("cancelJob", { id: 1 });
  const job = await agent.call("getJob", { id });
  assert.equal(job.reason, "waits for 2 CPUs: job 2 uses 1 of 2");
  await agent.call("cancelJob", { id: 2 });
  await until(async () => (await agent.call("getJob", { id })).status === "SUCCEEDED" || undefined);
});
