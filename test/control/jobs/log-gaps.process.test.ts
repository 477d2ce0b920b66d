import assert from "node:assert/strict";
import { test } from "node:test";
import { gapLine } from "../../../contract/hooks.ts";
import { attemptLogOf } from "../../../control/jobs/folders.ts";
import { copyStateOf } from "../../../control/log-copy.ts";
import { logOf, untilCopied, withJob } from "./bed.ts";

test("of a log that is larger than the setting, control keeps the beginning and the end", async (t) => {
  const megabyte = 2 ** 20;
  const bed = await withJob(t, "name: train\nrun: train", { config: { jobLogMegabytes: 17 } });
  const agent = await bed.agent(1);
  agent.print(1, `first line\n${`${"x".repeat(megabyte - 1)}\n`.repeat(34)}last line\n`);
  agent.end(1, "SUCCEEDED");
  const { id } = await bed.untilSettled(1);

  const file = attemptLogOf(bed.world.ctx, id, 1);
  const gap = { from: 16 * megabyte, to: 32 * megabyte };
  assert.deepEqual(await copyStateOf(file), { gap, isWhole: true });
  const { text } = await logOf(bed, { job_id: 1 });
  assert.match(text, /^first line\nx/);
  assert.ok(text.includes(gapLine(gap)));
  assert.ok(text.endsWith("x\nlast line\n"));
});

test("what lies behind bytes that a node left out is copied at once", async (t) => {
  const bed = await withJob(t);
  const agent = await bed.agent(1);
  agent.print(1, "one\n");
  await untilCopied(bed, "one\n");
  const [job] = agent.node.jobs;
  assert.ok(job);
  job.gap = { from: 8, to: 12 };
  agent.print(1, "two\nout\nfour\n");

  await untilCopied(bed, `one\ntwo\n${gapLine(job.gap)}four\n`);
});
