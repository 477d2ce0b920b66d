import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { containerName } from "../../control/doors/kubernetes/exec.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whileAway, whyNoLab } from "../helpers/kubernetes.ts";
import {
  aPodTask,
  leavesLine,
  numbersIn,
  outFolder,
  startKubeControl,
  untilAgain,
  untilUpAgain,
} from "./lab.ts";

const skip = whyNoLab();
const ofDemo = "--selector=outrigger/cluster=demo";

test("a pod that is drained runs its preemption hooks, and the one in its place has time for those set later", {
  skip,
  timeout: 180_000,
}, async (t) => {
  const { control, kubectl, get } = await startKubeControl(t);
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const config = {
    hooks: [leavesLine("preemption"), leavesLine("down")],
    kubernetes: out.kubernetes,
  };
  const waits = "trap 'echo TERM > /out/term; exit 143' TERM; while :; do sleep 0.1; done";
  await demo.launch(aPodTask(waits, { config }));
  const [name = ""] = (await kubectl("get", "pods", ofDemo, "--output=name")).split("\n");
  const read = () =>
    get<{
      metadata: { uid: string };
      spec: { terminationGracePeriodSeconds: number };
    }>("pod", name.replace("pod/", ""));
  const pod = await read();
  assert.equal(pod?.spec.terminationGracePeriodSeconds, 35);
  const task = join(control.home, "more-hooks.yaml");
  const more = [...config.hooks, leavesLine("preemption", { does: ":", timeout: 80 })];
  writeFileSync(task, aPodTask("true", { config: { ...config, hooks: more } }));
  const { stderr } = await control.cli("launch", "-y", "-d", "-c", "demo", task);
  assert.match(stderr, /may take 100 s in total, but kubernetes takes a node away 35 s after/);
  assert.deepEqual(await read().then((one) => one?.metadata.uid), pod?.metadata.uid);

  const which = "--pod-selector=outrigger/cluster=demo";
  await untilUpAgain(control, "demo", async () => {
    await kubectl("drain", "lab1", which, "--force", "--delete-emptydir-data");
    await kubectl("uncordon", "lab1");
  });

  assert.equal(out.read("hooks"), "preemption 0 as preemption\n".repeat(2));
  assert.equal(out.read("term"), "TERM\n");
  const next = await read();
  assert.notEqual(next?.metadata.uid, pod?.metadata.uid);
  assert.equal(next?.spec.terminationGracePeriodSeconds, 115);
  const { stdout } = await control.cli("logs", "--hook", "preemption", "demo");
  assert.match(stdout, /^(\S+ saving\n\S+ saved\n){2}$/);

  await demo.down();
  assert.match(out.read("hooks"), /^(preemption 0 as preemption\n){2}down 0 as down\n$/);
});

test("a teardown runs no preemption hooks, on workers either", {
  skip,
  timeout: 180_000,
}, async (t) => {
  const { control } = await startKubeControl(t);
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const config = {
    hooks: [leavesLine("preemption"), leavesLine("down")],
    kubernetes: out.kubernetes,
  };
  await demo.launch(aPodTask("true", { config, num_nodes: 2 }));

  await demo.down();

  assert.equal(out.read("hooks"), "down 0 as down\n");
});

test("an idle pod ends by itself while control is away", { skip, timeout: 180_000 }, async (t) => {
  const { control, kubectl } = await startKubeControl(t);
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const env = [{ name: "OUTRIGGER_SELF_STOP_AFTER_SECONDS", value: "1" }];
  const selfStopping = out.withPods({ containers: [{ name: containerName, env }] });
  const phases = () => kubectl("get", "pods", ofDemo, "--output=jsonpath={.items[*].status.phase}");
  await demo.launch(
    aPodTask("until [ -e /out/go ]; do sleep 0.1; done", {
      config: { kubernetes: selfStopping },
    }),
    { idle_minutes_to_autostop: 0, down: true },
  );
  const grace = "--output=jsonpath={.items[*].spec.terminationGracePeriodSeconds}";
  assert.equal(await kubectl("get", "pods", ofDemo, grace), "30");
  await control.end("SIGKILL");
  assert.equal(await phases(), "Running");
  out.write("go");

  await until(async () => ((await phases()) === "Succeeded" ? true : undefined));
  await control.start();

  await demo.untilStatus(undefined);
  assert.equal(await phases(), "");
});

test("an API server that is away for a while costs no job and no line of its log", {
  skip,
  timeout: 180_000,
}, async (t) => {
  const { control, get, kubectl } = await startKubeControl(t);
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const counts =
    "for ((n = 1; ; n += 1)); do echo $n; echo $n > /out/count; [ ! -e /out/go ] || exit 0; sleep 0.05; done";
  const id = await demo.launch(aPodTask(counts, { config: { kubernetes: out.kubernetes } }));
  const name = (await kubectl("get", "pods", ofDemo, "--output=name")).replace("pod/", "");
  const uid = async () => (await get<{ metadata: { uid: string } }>("pod", name))?.metadata.uid;
  const before = await uid();
  const count = () => Number(out.read("count"));
  const begun = Promise.withResolvers<void>();
  const followed = demo.follow(id, {}, () => begun.resolve());
  await begun.promise;

  await whileAway("kube-apiserver", async () => {
    const until100More = count() + 100;
    await until(() => (count() > until100More ? true : undefined));
  });
  await untilAgain(uid, before);
  out.write("go");

  const { text, code } = await followed;
  assert.equal(code, 0);
  assert.deepEqual(
    numbersIn(text),
    Array.from({ length: count() }, (_, at) => at + 1),
  );
  await demo.untilStatus("UP");
  assert.equal(await uid(), before);
  await demo.down();
});
