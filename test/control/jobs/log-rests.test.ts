import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { missingEnd } from "../../../contract/job-log.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { agentBehind } from "../../../control/doors/agent.ts";
import { openUnixDoor } from "../../../control/doors/unix.ts";
import { attemptLogOf } from "../../../control/jobs/folders.ts";
import { keptAttempt } from "../../../control/jobs/logs.ts";
import type { JobTask } from "../../../control/jobs/schema.ts";
import { copyStateOf } from "../../../control/log-copy.ts";
import { type FakeAgent, startFakeAgent } from "../../helpers/fake-agent.ts";
import type { FakeNode } from "../../helpers/fake-node.ts";
import { aPool, withPool } from "../services/pools/bed.ts";
import { type JobBed, logOf, silence, untilCopied, withJob } from "./bed.ts";

const { signal } = new AbortController();

/** Has control read no more of the logs of a node, until the answer is called. */
function unreadable({ node }: FakeAgent, ...rows: readonly string[]): () => void {
  const { onCall } = node;
  node.onCall = (name) => {
    if (["readLog", ...rows].includes(name)) throw new AppError("UnreachableError", "away");
  };
  return () => {
    node.onCall = onCall;
  };
}

const headOf = ({ socket }: FakeNode) => agentBehind(openUnixDoor(socket), "the agent of the host");

const keptOf = async ({ world: { ctx } }: JobBed, taskId: string, attempt: number) =>
  Buffer.concat(await Readable.from(keptAttempt(ctx, taskId, attempt)).toArray()).toString();

test("a follower of a log is told what the next attempt waits for, and where its end is missing", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit();
  const { clusterId } = await bed.untilTask(1, "RUNNING");
  (await bed.agentOf(1)).print(2, "attempt 1\n");
  await untilCopied(bed, "attempt 1\n");

  const { body } = await bed.world.open("POST", "/jobs/logs", { body: { job_id: 1 } });
  await bed.world.provider.lose(clusterId ?? "", 0);
  let text = "";
  for await (const chunk of Readable.from(body)) {
    text += chunk;
    if (text.includes("waits for an idle worker of pool warm")) break;
  }

  assert.ok(text.startsWith(`attempt 1\n${missingEnd}`));
});

test("a log that a host still has when its job is cancelled ends, says what is missing, and is whole later", async (t) => {
  const bed = await withJob(t);
  const agent = await bed.agent(1);
  agent.print(1, "begun\n");
  await untilCopied(bed, "begun\n");
  const { id, clusterId } = await bed.task(1);
  await silence(bed);
  agent.print(1, "unread\n");
  const followed = logOf(bed, { job_id: 1 });
  await bed.world.run(rows.cancel, { job_ids: [1] });
  await bed.untilSettled(1);

  assert.ok((await followed).text.endsWith(`begun\n${missingEnd}`));
  assert.equal(await keptOf(bed, id, 1), `begun\n${missingEnd}`);
  const again = await startFakeAgent(agent.node);
  t.after(again.close);
  await bed.world.ctx.jobLogs.rest(clusterId ?? "", headOf(agent.node), signal);
  assert.equal(await keptOf(bed, id, 1), "begun\nunread\n");
});

test("what a worker that was lost has of logs is fetched once its host is reached", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit();
  const { id, clusterId } = await bed.untilTask(1, "RUNNING");
  const agent = await bed.agentOf(1);
  unreadable(agent);
  agent.print(2, "unread\n");
  await bed.world.provider.lose(clusterId ?? "", 0);
  await bed.until(1, ({ clusterJob, status }) => status === "RECOVERING" && clusterJob === null);
  const before = await keptOf(bed, id, 1);
  agent.node.onCall = () => {};
  const again = await startFakeAgent(agent.node);
  t.after(again.close);

  await bed.world.ctx.jobLogs.rest(clusterId ?? "", headOf(agent.node), signal);

  assert.deepEqual([before, await keptOf(bed, id, 1)], [missingEnd, "unread\n"]);
  assert.equal(agent.node.jobs.find((job) => job.id === 2)?.status, "CANCELLED");
});

test("the log of an attempt is fetched from a host that was taken away before control has left it", async (t) => {
  const bed = await withJob(t);
  const agent = await bed.agent(1);
  const readable = unreadable(agent);
  agent.print(1, "unread\n");
  const { id, clusterId } = await bed.task(1);
  const release = bed.world.provider.holds("list");
  t.after(release);
  readable();

  await bed.world.ctx.jobLogs.rest(clusterId ?? "", headOf(agent.node), signal);

  assert.equal((await copyStateOf(attemptLogOf(bed.world.ctx, id, 1))).isWhole, true);
  assert.equal(await keptOf(bed, id, 1), "unread\n");
});

test("a log whose end cannot be fetched from a worker costs no other log its end", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  const agent = await bed.agentOf(1);
  const jobs = [];
  for (const number of [1, 2, 3]) {
    await bed.submit("resources: {cpus: 1}\nrun: train");
    jobs.push(await bed.untilTask(number, "RUNNING"));
  }
  const readable = unreadable(agent, "getJob");
  for (const { clusterJob } of jobs) agent.print(clusterJob ?? 0, "unread\n");
  await bed.world.run(rows.cancel, { job_ids: [1, 2, 3] });
  for (const number of [1, 2, 3]) await bed.untilSettled(number);
  const [{ id: first }, { id: other }, { id: last }] = jobs as [JobTask, JobTask, JobTask];
  const replaced = agent.node.jobs.find(({ submissionId }) => submissionId === `${other}-1`);
  Object.assign(replaced ?? {}, { submissionId: `${other}-2` });
  await writeFile(attemptLogOf(bed.world.ctx, last, 1).replace(/log$/, "rest"), "");
  agent.node.onCall = (name) => {
    if (name !== "cancelJob") return;
    readable();
    throw new AppError("UnreachableError", "away");
  };

  await bed.world.ctx.jobLogs.rest(jobs[0]?.clusterId ?? "", headOf(agent.node), signal);

  const kept = await Promise.all([first, other, last].map((id) => keptOf(bed, id, 1)));
  assert.deepEqual(kept, ["unread\n", missingEnd, "unread\n"]);
});

test("what a worker has of logs that it did not send in time is fetched before it is removed", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit();
  const { id } = await bed.untilTask(1, "RUNNING");
  const agent = await bed.agentOf(1);
  const readable = unreadable(agent, "getJob");
  agent.print(2, "unread\n");
  await bed.world.run(rows.cancel, { job_ids: [1] });
  await bed.untilSettled(1);
  const before = await keptOf(bed, id, 1);
  readable();

  await bed.down();

  assert.deepEqual([before, await keptOf(bed, id, 1)], [missingEnd, "unread\n"]);
});
