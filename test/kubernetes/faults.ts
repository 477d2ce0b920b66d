import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations as jobs } from "../../contract/operations/jobs.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { hookedCluster } from "../e2e/hooked.ts";
import { until } from "../helpers/agent.ts";
import { whileAway, whyNoLab } from "../helpers/kubernetes.ts";
import { preemptionOf, startJob } from "./job.ts";
import { aPodTask, numbersIn, outFolder, startKubeControl, untilAgain } from "./lab.ts";

const options = { skip: whyNoLab(), timeout: 240_000 };
const ours = "--selector=outrigger/control";

const untilReady = (kubectl: (...words: string[]) => Promise<string>, is: string) =>
  until(async () => {
    const path = "--output=jsonpath={.status.conditions[?(@.type=='Ready')].status}";
    return (await kubectl("get", "node", "lab1", "--ignore-not-found", path)) === is || undefined;
  });

test(
  "a node that is away costs no job; once its pods are given up, they are replaced or deleted",
  options,
  async (t) => {
    const { control, kubectl } = await startKubeControl(t);
    const out = outFolder(t);
    const { client } = control;
    const job = async () => (await client.callAndGet(jobs.queueV2, {})).jobs[0];
    const untilJob = (recoveries: number) =>
      until(async () => {
        const now = await job();
        return (now?.status === "RUNNING" && now.recovery_count === recoveries) || undefined;
      });
    const healthy = hookedCluster(control, "healthy");
    const doomed = clusterOf(control, "doomed");
    const kubernetes = out.kubernetes;
    const id = await healthy.launch(
      aPodTask("until [ -e /out/go ]; do sleep 0.1; done; echo done", { config: { kubernetes } }),
    );
    await doomed.launch(aPodTask("sleep 3600", { config: { kubernetes } }));
    const tolerations = ["not-ready", "unreachable"].map((taint) => ({
      ...{ key: `node.kubernetes.io/${taint}`, operator: "Exists", effect: "NoExecute" },
      tolerationSeconds: 1,
    }));
    const impatient = out.withPods({ tolerations, terminationGracePeriodSeconds: 1 });
    const task = aPodTask("sleep 3600", { name: "train", config: { kubernetes: impatient } });
    await client.callAndGet(jobs.launch, { task, name: null });
    await untilJob(0);

    await whileAway("kubelet", async () => {
      await untilReady(kubectl, "Unknown");
      // Kubernetes gives pods up only while it hears of another node.
      const taint = "node.kubernetes.io/unreachable:NoExecute";
      await kubectl("taint", "node", "lab1", "--overwrite", taint);
      const why =
        /pod outrigger-\w+-0 is on node lab1 of Kubernetes context lab, which is not ready/;
      await until(
        async () => (await healthy.events()).some((event) => why.test(event)) || undefined,
      );
      await doomed.down();
      await until(async () => (await job())?.status !== "RUNNING" || undefined);
    });
    await untilJob(1);
    const { stdout } = await control.cli("jobs", "logs", "1", "--controller", "--no-follow");
    assert.match(
      stdout,
      /its machine is gone: it was on node lab1 of Kubernetes context lab, which is not ready/,
    );

    await healthy.untilStatus("UP");
    out.write("go");
    const { code, text } = await healthy.follow(id);
    assert.deepEqual([code, text.trim()], [0, "done"]);
    await client.callAndGet(jobs.cancel, { job_ids: [1] });
    await healthy.down();
    await until(
      async () =>
        (await kubectl("get", "pods,services", ours, "--output=name")) === "" || undefined,
    );
  },
);

test(
  "a taint takes pods away with their hooks, and their job goes on once it is gone",
  options,
  async (t) => {
    const job = await startJob(t);
    const { kubectl, out } = job;
    await job.untilAttempt(0);

    const taint = "cloud.google.com/impending-node-termination:NoExecute";
    await kubectl("taint", "node", "lab1", taint);
    try {
      await until(async () => /untolerated taint/.test(await job.narrated()) || undefined);
    } finally {
      await kubectl("taint", "node", "lab1", `${taint}-`);
    }
    await job.untilAttempt(1);
    assert.deepEqual(job.preemptions(), [preemptionOf(0)]);

    out.write("go");
    await job.untilNothing();
  },
);

test(
  "a node that is deleted while its kubelet runs takes its pods along, and their job goes on once it is back",
  options,
  async (t) => {
    const job = await startJob(t);
    const { kubectl, out } = job;
    await job.untilAttempt(0);

    await kubectl("delete", "node", "lab1");
    try {
      await until(async () => (await kubectl("get", "pods", "--output=name")) === "" || undefined);
      await until(() => job.preemptions()[0] === preemptionOf(0) || undefined);
    } finally {
      // It registers its node when it starts.
      await whileAway("kubelet", async () => {});
      await untilReady(kubectl, "True");
    }
    await job.untilAttempt(1);
    assert.match(await job.narrated(), /RECOVERING: its machine is gone/);

    out.write("go");
    await job.untilNothing();
  },
);

test(
  "an API server that is away for a minute costs no job and no line of a log, and launches fail in words",
  options,
  async (t) => {
    const job = await startJob(t);
    const { control, kubectl, out } = job;
    await job.untilAttempt(0);
    const demo = clusterOf(control, "demo");
    const counts =
      "for ((n = 1; ; n += 1)); do echo $n; [ ! -e /out/go ] || exit 0; sleep 0.1; done";
    const resources = { infra: "k8s", cpus: 0.25, memory: 0.5 };
    const task = (run: string) =>
      aPodTask(run, { resources, config: { kubernetes: out.kubernetes } });
    const id = await demo.launch(task(counts));
    const uids = () => kubectl("get", "pods", "--output=jsonpath={.items[*].metadata.uid}");
    const before = await uids();
    const begun = Promise.withResolvers<void>();
    const followed = demo.follow(id, {}, () => begun.resolve());
    await begun.promise;

    await whileAway("kube-apiserver", async () => {
      const endsAt = performance.now() + 60_000;
      await assert.rejects(
        clusterOf(control, "late").launch(task("true")),
        /the API server of Kubernetes context lab does not answer/,
      );
      await until(() => performance.now() > endsAt || undefined);
    });
    await untilAgain(uids, before);
    out.write("go");
    const { text, code } = await followed;
    assert.equal(code, 0);
    const numbers = numbersIn(text);
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => at + 1),
    );
    assert.ok(numbers.length > 100);
    assert.doesNotMatch(await job.narrated(), /attempt 2|RECOVERING/);
    await demo.down();
    await job.untilNothing();
  },
);
