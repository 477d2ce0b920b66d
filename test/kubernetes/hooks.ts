import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, evict, outFolder, startKubeControl } from "./lab.ts";

test("a pod runs each hook once, though its agent is told twice and killed, and none for longer than it has", {
  skip: whyNoLab(),
  timeout: 180_000,
}, async (t) => {
  const lab = await startKubeControl(t, { OUTRIGGER_KUBERNETES_GRACE_SECONDS: "20" });
  const { control, kubectl } = lab;
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const hook = (name: string, does: string, timeout: number) => ({
    run: `echo ${name}; echo ${name} >> /out/hooks; ${does}`,
    events: ["preemption"],
    timeout,
  });
  const hooks = [
    hook("first", "until [ -e /out/go ]; do sleep 0.1; done", 30),
    hook("second", "sleep 1000", 3_600),
  ];
  const task = join(control.home, "hooks.yaml");
  writeFileSync(task, aPodTask("sleep 3600", { config: { hooks, kubernetes: out.kubernetes } }));
  const { stderr } = await control.cli("launch", "-y", "-d", "-c", "demo", task);
  assert.match(stderr, /may take 3630 s in total, but kubernetes takes a node away 20 s after/);
  const pod = await kubectl("get", "pods", "--output=name");

  await kubectl("delete", pod, "--wait=false");
  await until(() => out.read("hooks") !== "" || undefined);
  await kubectl("exec", pod, "--", "bash", "-c", "kill -TERM 1");
  await kubectl("exec", pod, "--", "pkill", "-KILL", "-f", "agent[.]mjs");
  out.write("go");

  await until(() => out.read("hooks") === "first\nsecond\n" || undefined);
  await kubectl("wait", "--for=delete", pod, "--timeout=60s");
  const { stdout } = await control.cli("logs", "--hook", "preemption", "demo");
  assert.match(stdout, /^first\nsecond\n.*124/s);
  assert.equal(out.read("hooks"), "first\nsecond\n");
  await demo.down();
});

test("an eviction that meets a teardown sets its deadline, and has no hook run twice", {
  skip: whyNoLab(),
  timeout: 180_000,
}, async (t) => {
  const lab = await startKubeControl(t, { OUTRIGGER_KUBERNETES_GRACE_SECONDS: "20" });
  const { control, kubectl } = lab;
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const hook = (name: string, events: string[], does = ":") => ({
    run: `echo ${name} as $HOOK_EVENT >> /out/hooks; ${does}`,
    ...{ events, timeout: 3_600 },
  });
  const hooks = [hook("save", ["down", "preemption"]), hook("slow", ["down"], "sleep 1000")];
  await demo.launch(aPodTask("sleep 3600", { config: { hooks, kubernetes: out.kubernetes } }));
  const pod = (await kubectl("get", "pods", "--output=name")).replace("pod/", "");
  const ended = demo.down();
  await until(() => out.read("hooks").includes("slow") || undefined);

  await evict(lab, pod);

  await ended;
  assert.equal(out.read("hooks"), "save as down\nslow as down\n");
  const { stdout } = await control.cli("logs", "--hook", "down", "demo");
  assert.match(
    stdout,
    /hook 2 of 2 \(down\) timed out .*: the time until the node goes was over\n$/,
  );
});
