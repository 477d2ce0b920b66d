import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { missingEnd } from "../../../contract/job-log.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { until } from "../../helpers/agent.ts";
import { jobBed, logOf, untilCopied, withJob } from "./bed.ts";

test("a log is followed across attempts without a gap, and ends with the job", async (t) => {
  const bed = await withJob(t);
  const followed = logOf(bed, { job_id: 1 });
  (await bed.agent(1)).print(1, "attempt 1\n");
  await until(async () => (await logOf(bed, { job_id: 1, follow: false })).text || undefined);
  await bed.world.provider.lose((await bed.task(1)).clusterId ?? "", 0);
  await bed.untilAttempt(1, 2);
  const agent = await bed.agent(1);
  agent.print(1, "attempt 2\n");
  agent.end(1, "SUCCEEDED");

  const { text, code } = await followed;
  // Where the new machine takes long, who follows is told that it is being recovered.
  const log = text.replace(/<sky-payload>.*<\/sky-payload>\n/g, "");
  const printed = `attempt 1\n${missingEnd}attempt 2\n`;
  assert.deepEqual([log, code], [printed, 0]);
  assert.equal((await logOf(bed, { name: "train", follow: false })).text, printed);
  assert.equal((await logOf(bed, { follow: false, tail: 1 })).text, "attempt 2\n");
});

test("a log is copied as it grows, and followed at its node only while somebody follows it", async (t) => {
  const bed = await withJob(t);
  const agent = await bed.agent(1);
  agent.print(1, "one\n");
  await untilCopied(bed, "one\n");
  agent.print(1, "two\n");
  await untilCopied(bed, "one\ntwo\n");
  assert.equal(agent.node.followers, 0);

  const gone = new AbortController();
  const { body } = await bed.world.open("POST", "/jobs/logs", {
    ...{ body: { job_id: 1 }, signal: gone.signal },
  });
  const read = assert.rejects(Readable.from(body).toArray());
  await until(() => agent.node.followers === 1 || undefined);
  gone.abort();
  await read;
  await until(() => agent.node.followers === 0 || undefined);
  agent.print(1, "three\n");
  await untilCopied(bed, "one\ntwo\nthree\n");
});

test("the log of an agent that does not tell when it grows is followed all the time", async (t) => {
  const before = await withJob(t);
  const { node, print } = await before.agent(1);
  node.isOld = true;
  const bed = await before.crash();

  await until(() => node.followers === 1 || undefined);
  print(1, "words\n");
  await untilCopied(bed, "words\n");
});

test("the cluster of a job that has ended stays until the end of its log is here", async (t) => {
  const before = await withJob(t);
  const agent = await before.agent(1);
  let [isAway, tries] = [true, 0];
  agent.node.onCall = (name) => {
    if (!isAway || name !== "readLog") return;
    tries += 1;
    throw new AppError("UnreachableError", "away");
  };
  const bed = await before.crash();
  agent.print(1, "last words\n");
  agent.end(1, "SUCCEEDED");
  await bed.untilTask(1, "SUCCEEDED");
  const enough = tries + 3;
  await until(() => tries >= enough || undefined);
  const { wanted } = await bed.cluster(1);
  isAway = false;
  await bed.untilSettled(1);

  assert.equal(wanted, "UP");
  assert.equal((await logOf(bed, { job_id: 1 })).text, "last words\n");
});

test("a log that is asked for before the job runs begins once it does", async (t) => {
  const bed = await jobBed(t);
  const release = bed.world.provider.holds("create");
  await bed.launch();
  const followed = logOf(bed, { job_id: 1 });
  release();
  await bed.untilTask(1, "RUNNING");
  const agent = await bed.agent(1);
  agent.print(1, "now\n");
  agent.end(1, "FAILED");

  const { text, code } = await followed;
  assert.match(text, /now\n$/);
  assert.equal(code, 100);
});

test("what control decided is told from the first step to the last", async (t) => {
  const bed = await withJob(t);
  const followed = logOf(bed, { job_id: 1, controller: true });

  (await bed.agent(1)).end(1, "SUCCEEDED");

  assert.match((await followed).text, /STARTING.*Job submitted.*RUNNING.*SUCCEEDED/s);
});

test("a log of a job that there is not says so, and ends as one that was not found", async (t) => {
  const bed = await jobBed(t);

  const unknown = await logOf(bed, { job_id: 9 });
  assert.deepEqual(
    [unknown.text, unknown.code],
    ["there is no managed job 9; list them with: outrigger jobs queue\n", 102],
  );
});

test("a job is waited for until it has ended, or for as long as is said", async (t) => {
  const bed = await withJob(t);
  await assert.rejects(bed.world.run(rows.wait, { job_id: 1, timeout: 0 }), {
    type: "TimeoutError",
    message: "managed job 1 has not ended yet; wait for it again",
  });
  const waiting = bed.world.run(rows.wait, { name: "train", task: 0 });

  (await bed.agent(1)).end(1, "FAILED");

  assert.equal(await waiting, 100);
  await assert.rejects(bed.world.run(rows.wait, { job_id: 8 }), { type: "JobNotFoundError" });
});
