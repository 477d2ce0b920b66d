import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesOperations as kubernetes } from "../../contract/operations/kubernetes.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { preemptionOf, startJob } from "./job.ts";
import { aPodTask, evict, leavesLine, outFolder, startKubeControl } from "./lab.ts";

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

test(
  "a job in a pod that is evicted is told to end once the hooks have run",
  options,
  async (t) => {
    const lab = await startKubeControl(t);
    const { control, kubectl } = lab;
    const out = outFolder(t);
    const demo = clusterOf(control, "demo");
    const hooks = [
      leavesLine("preemption", {
        does: "until [ -e /out/go ]; do sleep 0.1; done; echo saved >> /out/hooks",
      }),
    ];
    const run =
      "trap 'echo job ends >> /out/hooks; exit 143' TERM; echo began > /out/began; while :; do sleep 0.1; done";
    await demo.launch(aPodTask(run, { config: { hooks, kubernetes: out.kubernetes } }));
    await until(() => out.read("began") !== "" || undefined);
    const pod = (await kubectl("get", "pods", "--output=name")).replace("pod/", "");

    await evict(lab, pod);
    await until(() => out.read("hooks") !== "" || undefined);
    out.write("go");

    await until(() => out.read("hooks").includes("job ends") || undefined);
    assert.equal(out.read("hooks"), "preemption 0 as preemption\nsaved\njob ends\n");
    await demo.down();
  },
);
