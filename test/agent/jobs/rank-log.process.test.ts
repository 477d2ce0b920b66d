import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { until } from "../../helpers/agent.ts";
import { startPair, startRelay } from "../../helpers/relay.ts";

const megabyte = 2 ** 20;
const line = "123456789abcdef\n";

test("a worker limits its log while nobody carries it to the head, which learns of the gap", async (t) => {
  const agents = await startPair(t);
  const [head, worker] = agents;
  const size = 100 * megabyte;
  const print = `yes ${line.trim()} | head -c ${size}; touch ~/printed`;
  const run = `[ "$OUTRIGGER_NODE_RANK" = 0 ] || { ${print}; }`;
  const { id } = await head.submit(run, { nodes: 2 });
  // The head keeps the whole of the merged log, so that all of it can be looked at.
  const limits = { logBytes: 32 * megabyte };
  const spec = { ...(await head.call("getPartSpec", { id })), limits };
  for (const wanted of ["setup", "run"] as const)
    await worker.call("putPart", { id, wanted, spec });
  await until(() => existsSync(join(worker.home, "printed")) || undefined);
  const own = join(worker.home, `.outrigger/jobs/${id}/run.log`);
  await until(() => statSync(own).blocks * 512 < 48 * megabyte || undefined);

  startRelay(t, agents);
  assert.equal((await head.untilJob(id)).status, "SUCCEEDED");

  const folder = join(head.home, `.outrigger/jobs/${id}`);
  assert.equal(statSync(join(folder, "rank-1.log")).size, size);
  const lines = readFileSync(join(folder, "run.log"), "latin1").trimEnd().split("\n");
  const gaps = lines.filter((one) => one !== `(worker1, rank=1) ${line.trim()}`);
  assert.equal(gaps.length, 1, gaps.slice(0, 3).join("\n"));
  const [, leftOut] =
    /^\(worker1, rank=1\) \[(\d+) MiB of output were left out here\]$/.exec(gaps[0] ?? "") ?? [];
  assert.equal((lines.length - 1) * line.length + Number(leftOut) * megabyte, size);
});

test("what a worker left out follows only on what the head has merged", async (t) => {
  const { append, merged } = await aRank(t);
  assert.deepEqual(await append(0, "one\ntw"), { logBytes: 6 });
  await assert.rejects(append(9, "x", 7), { message: /has 6 bytes of rank 1/ });
  await assert.rejects(append(9, "x"), { message: /has 6 bytes of rank 1/ });

  assert.deepEqual(await append(1_000_006, "three\n", 6), { logBytes: 1_000_012 });

  const rank = "(worker1, rank=1)";
  const gap = "[1 MiB of output were left out here]";
  const expected = ["one", "tw", gap, "three"].map((text) => `${rank} ${text}\n`).join("");
  await until(() => merged() === expected || undefined);
  assert.deepEqual(await append(1_000_006, "three\n", 6), { logBytes: 1_000_012 });
  assert.deepEqual(await append(2_000_012, "four\n", 1_000_012), { logBytes: 2_000_017 });
  await until(() => merged() === `${expected}${rank} ${gap}\n${rank} four\n` || undefined);
});

/** A rank of a job that runs, as its head has it. */
async function aRank(t: TestContext) {
  const [head] = await startPair(t);
  const { id } = await head.submit("sleep 1000", { nodes: 2 });
  await until(async () => (await head.call("listParts", { id })).length === 2 || undefined);
  return {
    merged: () => readFileSync(join(head.home, `.outrigger/jobs/${id}/run.log`), "utf8"),
    append: (offset: number, bytes: string, leftOutFrom?: number) =>
      head.call("appendPartLog", { id, rank: 1, offset, leftOutFrom }, Buffer.from(bytes)),
  };
}
