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

    await job.evict((await job.pods())[0]);
    await job.untilAttempt(1);
    assert.deepEqual(job.preemptions(), [preemptionOf(0)]);

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

    out.write("go");
    const { stdout } = await control.cli("jobs", "logs", "1");
    assert.match(stdout, /^attempt 0\n.*^attempt 1\n.*^attempt 2\ndone\n$/ms);
    const log = await control.cli("logs", "--hook", "preemption", "train-1");
    assert.match(log.stdout, /saving\nsaved\n/, log.stderr);
    await until(async () => out.read("hooks").endsWith("down 0 as down\n") || undefined);
    await job.untilNothing();
  },
);

test(
  "a managed job on two pods goes on when its worker alone is evicted, and when both are",
  options,
  async (t) => {
    const job = await startJob(t, 2);
    const { control, out } = job;
    await job.untilAttempt(0);

    const [, worker] = await job.pods();
    await job.evict(worker);
    await job.untilAttempt(1);
    assert.deepEqual(job.preemptions(), [preemptionOf(1)]);
    assert.match(
      await job.narrated(),
      /its machine is being preempted: SIGTERM to the agent; the cluster of its next attempt is created/,
    );

    await Promise.all((await job.pods()).map(job.evict));
    await job.untilAttempt(2);
    assert.deepEqual(job.preemptions(1), [preemptionOf(0), preemptionOf(1)]);

    out.write("go");
    const { stdout } = await control.cli("jobs", "logs", "1");
    assert.match(stdout, /attempt 2\n.*done\n/s);
    await job.untilNothing();
  },
);
