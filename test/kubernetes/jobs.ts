import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesOperations as kubernetes } from "../../contract/operations/kubernetes.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { preemptionOf, startJob } from "./job.ts";

const options = { skip: whyNoLab(), timeout: 240_000 };

test(
  "a managed job goes on when its pod is evicted, and when its node is drained",
  options,
  async (t) => {
    const job = await startJob(t);
    const { control, kubectl, out } = job;
    await job.untilAttempt(0);
    const there = await control.client.callAndGet(kubernetes.statusKubernetes, {});
    const [[cluster], others, [shown], context] = there;
    assert.deepEqual([cluster?.cluster_name, cluster?.status], ["train-1", "UP"]);
    assert.deepEqual([others, shown?.job_name, shown?.status], [[], "train", "RUNNING"]);
    assert.equal(context, "lab");

    const evicted = await job.pod();
    await job.evict(evicted.name);
    await job.untilAttempt(1);
    assert.deepEqual(job.preemptions(), [preemptionOf(0)]);

    const drained = await job.pod();
    await kubectl(
      ...[
        "drain",
        "lab1",
        `--pod-selector=outrigger/cluster-id`,
        "--force",
        "--delete-emptydir-data",
      ],
    );
    await kubectl("uncordon", "lab1");
    await job.untilAttempt(2);
    assert.deepEqual(job.preemptions(), [preemptionOf(0), preemptionOf(0)]);
    assert.deepEqual(job.terms(), [evicted.name, drained.name].toSorted());

    const last = await job.pod();
    out.write("go");
    const { stdout } = await control.cli("jobs", "logs", "1");
    assert.match(stdout, /^attempt 0\n.*^attempt 1\n.*^attempt 2\ndone\n$/ms);
    await until(async () => out.read("hooks").endsWith("down 0 as down\n") || undefined);
    await job.untilNothing();
    for (const pod of [evicted, drained]) assert.equal(await pod.log("preemption"), pod.whole);
    assert.equal(await last.log("down"), last.whole);
  },
);

test(
  "a managed job on two pods goes on when its worker alone is evicted, and when both are",
  options,
  async (t) => {
    const job = await startJob(t, 2);
    const { control, out } = job;
    await job.untilAttempt(0);

    const worker = await job.pod(1);
    await job.evict(worker.name);
    const isTold =
      /its machine is being preempted: SIGTERM to the agent; the cluster of its next attempt is created/;
    await until(async () => isTold.test(await job.narrated()) || undefined);
    job.save(worker.name);
    await job.untilAttempt(1);
    assert.deepEqual(job.preemptions(), [preemptionOf(1)]);
    assert.ok(job.terms().includes(worker.name));
    const withRank = worker.whole.replaceAll(/^(?=.)/gm, "(rank 1) ");
    assert.equal(await worker.log("preemption"), withRank);

    const both = await Promise.all([0, 1].map(job.pod));
    for (const { name } of both) await job.evict(name);
    await until(() => job.preemptions(1).length === 2 || undefined);
    for (const { name } of both) job.save(name);
    await job.untilAttempt(2);
    assert.deepEqual(job.preemptions(1), [preemptionOf(0), preemptionOf(1)]);

    out.write("go");
    const { stdout } = await control.cli("jobs", "logs", "1");
    assert.match(stdout, /attempt 2\n.*done\n/s);
    await job.untilNothing();
  },
);
