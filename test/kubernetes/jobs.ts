import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { kubernetesOperations as kubernetes } from "../../contract/operations/kubernetes.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, leavesLine, outFolder, startKubeControl } from "./lab.ts";

const options = { skip: whyNoLab(), timeout: 240_000 };

test(
  "a managed job goes on when its pod is evicted, and when its node is drained",
  options,
  async (t) => {
    const { control, kubectl, namespace } = await startKubeControl(t);
    const out = outFolder(t);
    const podOf = async () =>
      (await kubectl("get", "pods", "--output=name", "--field-selector=status.phase=Running"))
        .split("\n")
        .at(-1)
        ?.replace("pod/", "");
    const preemptions = () => out.read("hooks").split("preemption 0 as preemption\n").length - 1;
    const untilAttempt = (recoveries: number) =>
      until(async () => {
        const { jobs } = await control.client.callAndGet(rows.queueV2, {});
        const isRunning = jobs[0]?.status === "RUNNING" && jobs[0].recovery_count === recoveries;
        return (isRunning && out.read(`began-${recoveries}`) !== "") || undefined;
      });
    const config = {
      hooks: [leavesLine("preemption"), leavesLine("down")],
      kubernetes: out.kubernetes,
    };
    const run = `echo attempt $OUTRIGGER_RECOVERY_COUNT | tee /out/began-$OUTRIGGER_RECOVERY_COUNT
until [ -e /out/go ]; do sleep 0.1; done; echo done`;
    await control.client.callAndGet(rows.launch, {
      task: aPodTask(run, { name: "train", config }),
      name: null,
    });
    await untilAttempt(0);
    const there = await control.client.callAndGet(kubernetes.statusKubernetes, {});
    const [[cluster], others, [job], context] = there;
    assert.deepEqual([cluster?.cluster_name, cluster?.status], ["train-1", "UP"]);
    assert.deepEqual([others, job?.job_name, job?.status], [[], "train", "RUNNING"]);
    assert.equal(context, "lab");

    const pod = await podOf();
    const eviction = join(control.home, "eviction.json");
    const kind = { apiVersion: "policy/v1", kind: "Eviction" };
    writeFileSync(eviction, JSON.stringify({ ...kind, metadata: { name: pod, namespace } }));
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`;
    await kubectl("create", "--raw", path, `--filename=${eviction}`);
    await untilAttempt(1);
    assert.equal(preemptions(), 1);

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
    await untilAttempt(2);
    assert.equal(preemptions(), 2);

    out.write("go");
    const { stdout } = await control.cli("jobs", "logs", "1");
    assert.match(stdout, /^attempt 0\n.*^attempt 1\n.*^attempt 2\ndone\n$/ms);
    const log = await control.cli("logs", "--hook", "preemption", "train-1");
    assert.match(log.stdout, /saving\nsaved\n/, log.stderr);
    await until(async () => out.read("hooks").endsWith("down 0 as down\n") || undefined);
    await until(async () => {
      const left = "--selector=outrigger/control";
      return (await kubectl("get", "pods,services", left, "--output=name")) === "" || undefined;
    });
  },
);
