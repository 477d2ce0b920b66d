import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations as jobs } from "../../contract/operations/jobs.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { hookedCluster } from "../e2e/hooked.ts";
import { until } from "../helpers/agent.ts";
import { whileAway, whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, outFolder, startKubeControl } from "./lab.ts";

const options = { skip: whyNoLab(), timeout: 240_000 };
const ours = "--selector=outrigger/control";

test(
  "a node that is away costs no job; once its pods are given up, they are replaced or deleted",
  options,
  async (t) => {
    const { control, kubectl } = await startKubeControl(t);
    const out = outFolder(t);
    const { client } = control;
    const isReady = (is: string) =>
      until(async () => {
        const path = "--output=jsonpath={.status.conditions[?(@.type=='Ready')].status}";
        return (await kubectl("get", "node", "lab1", path)) === is || undefined;
      });
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
      await isReady("Unknown");
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
