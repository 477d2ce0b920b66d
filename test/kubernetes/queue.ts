import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../contract/operations/clusters.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { addGpus, aPodTask, gpuResources, leavesLine, outFolder, startKubeControl } from "./lab.ts";

const options = { skip: whyNoLab(), timeout: 180_000 };

test(
  "a pod that a queue holds back waits for longer than others may, and begins once it is admitted",
  options,
  async (t) => {
    const lab = await startKubeControl(t, { OUTRIGGER_KUBERNETES_PROVISION_SECONDS: "1" });
    const { control, kubectl } = lab;
    const { client } = control;
    const demo = clusterOf(control, "demo");
    // As the webhook of Kueue does with pods that have its label.
    const gate = "kueue.x-k8s.io/admission";
    const kubernetes = {
      ...outFolder(t).withPods({ schedulingGates: [{ name: gate }] }),
      kueue: { local_queue_name: "mine" },
    };
    const task = aPodTask("echo here", { config: { kubernetes } });
    const id = await client.call(clusters.launch, { cluster_name: "demo", task });
    const status = async () =>
      (await client.callAndGet(clusters.status, { cluster_names: ["demo"] }))[0];
    const held = /Scheduling is blocked due to non-empty scheduling gates/;
    await until(async () => held.test((await status())?.init_status_reason ?? "") || undefined);
    const queued = ["get", "pods", "--selector=kueue.x-k8s.io/queue-name=mine", "--output=name"];
    const pod = await kubectl(...queued);
    // Longer than a pod may wait for a place.
    const age = async () =>
      Date.now() -
      Date.parse(await kubectl("get", pod, "--output=jsonpath={.metadata.creationTimestamp}"));
    await until(async () => (await age()) > 5_000 || undefined);
    assert.equal(await kubectl(...queued), pod);

    const open = { spec: { schedulingGates: [{ name: gate, $patch: "delete" }] } };
    const since = performance.now();
    await kubectl("patch", pod, "--type=strategic", `--patch=${JSON.stringify(open)}`);
    await client.get(id);
    t.diagnostic(`launched ${Math.round(performance.now() - since)} ms after it was admitted`);

    assert.match((await demo.follow(1)).text, /here/);
    await demo.down();
  },
);

test(
  "a pod of a higher priority takes the place of another, whose hooks run before",
  options,
  async (t) => {
    const lab = await startKubeControl(t, { OUTRIGGER_KUBERNETES_PROVISION_SECONDS: "-1" });
    const { control, kubectl, namespace } = lab;
    const out = outFolder(t);
    await addGpus(t, lab);
    const classes = { low: `${namespace}-low`, high: `${namespace}-high` };
    t.after(() => kubectl("delete", "priorityclass", ...Object.values(classes)));
    await kubectl("create", "priorityclass", classes.low, "--value=1");
    await kubectl("create", "priorityclass", classes.high, "--value=1000");
    const task = (run: string, priority_class: string) =>
      aPodTask(run, {
        resources: { ...gpuResources, priority_class },
        config: { kubernetes: out.kubernetes, hooks: [leavesLine("preemption")] },
      });
    const [low, high] = [clusterOf(control, "low"), clusterOf(control, "high")];
    await low.launch(task("sleep 3600", classes.low));

    const { text } = await high.follow(await high.launch(task("echo here", classes.high)));

    assert.match(text, /here/);
    assert.equal(out.read("hooks"), "preemption 0 as preemption\n");
    const { stdout } = await control.cli("logs", "--hook", "preemption", "low");
    assert.match(stdout, /^\S+ saving\n\S+ saved\n$/);
    await low.untilStatus("INIT");
    await high.down();
    await low.untilStatus("UP");
    await low.down();
  },
);
