import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { restartApiServer, whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, startKubeControl } from "./lab.ts";

const skip = whyNoLab();
const ofDemo = "--selector=outrigger/cluster=demo";

/** A folder of this machine that each pod has as /out. */
function outFolder(t: { after(clean: () => void): void }) {
  const path = mkdtempSync(join(tmpdir(), "pods-"));
  t.after(() => rmSync(path, { recursive: true }));
  const pod_config = {
    spec: {
      containers: [
        {
          volumeMounts: [{ name: "out", mountPath: "/out" }],
          env: [{ name: "OUTRIGGER_SELF_STOP_AFTER_SECONDS", value: "1" }],
        },
      ],
      volumes: [{ name: "out", hostPath: { path } }],
    },
  };
  const read = (name: string) =>
    existsSync(join(path, name)) ? readFileSync(join(path, name), "utf8") : "";
  return { kubernetes: { pod_config }, read };
}

const hook = (event: string, timeout = 20) => ({
  run: `echo ${event} $OUTRIGGER_NODE_RANK as $HOOK_EVENT >> /out/hooks; echo saving; sleep 1; echo saved`,
  events: [event],
  timeout,
});

test("a pod that is drained runs its preemption hooks, and another one takes its place", {
  skip,
  timeout: 180_000,
}, async (t) => {
  const { control, kubectl, get } = await startKubeControl(t);
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const config = { hooks: [hook("preemption"), hook("down")], kubernetes: out.kubernetes };
  await demo.launch(aPodTask("sleep 3600", { config }));
  const [name = ""] = (await kubectl("get", "pods", ofDemo, "--output=name")).split("\n");
  const pod = await get<{
    metadata: { uid: string };
    spec: { terminationGracePeriodSeconds: number };
  }>("pod", name.replace("pod/", ""));
  assert.equal(pod?.spec.terminationGracePeriodSeconds, 35);

  await kubectl(
    "drain",
    "lab1",
    `--pod-selector=outrigger/cluster=demo`,
    "--force",
    "--delete-emptydir-data",
  );
  await kubectl("uncordon", "lab1");

  assert.equal(out.read("hooks"), "preemption 0 as preemption\n");
  await until(async () => {
    const now = await get<typeof pod>("pod", name.replace("pod/", ""));
    return now && now.metadata.uid !== pod?.metadata.uid ? true : undefined;
  });
  await demo.untilStatus("UP");
  const { stdout } = await control.cli("logs", "--hook", "preemption", "demo");
  assert.match(stdout, /saving\nsaved\n/);

  await demo.down();
  assert.equal(out.read("hooks"), "preemption 0 as preemption\ndown 0 as down\n");
});

test("a teardown runs no preemption hooks, on workers either", {
  skip,
  timeout: 180_000,
}, async (t) => {
  const { control } = await startKubeControl(t);
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const config = { hooks: [hook("preemption"), hook("down")], kubernetes: out.kubernetes };
  await demo.launch(aPodTask("true", { config, num_nodes: 2 }));

  await demo.down();

  assert.equal(out.read("hooks"), "down 0 as down\n");
});

test("an idle pod ends by itself while control is away", { skip, timeout: 180_000 }, async (t) => {
  const { control, kubectl } = await startKubeControl(t);
  const out = outFolder(t);
  const demo = clusterOf(control, "demo");
  const phases = () => kubectl("get", "pods", ofDemo, "--output=jsonpath={.items[*].status.phase}");
  await demo.launch(
    aPodTask("until [ -e /out/go ]; do sleep 0.1; done", {
      config: { kubernetes: out.kubernetes },
    }),
    { idle_minutes_to_autostop: 0, down: true },
  );
  await control.end("SIGKILL");
  assert.equal(await phases(), "Running");
  await kubectl(
    "exec",
    (await kubectl("get", "pods", ofDemo, "--output=name")).trim(),
    "--",
    "touch",
    "/out/go",
  );

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
  const followed = demo.follow(id);

  await restartApiServer(async () => {
    const until100More = count() + 100;
    await until(() => (count() > until100More ? true : undefined));
  });
  await until(() =>
    uid().then(
      (now) => now === before || undefined,
      () => undefined,
    ),
  );
  await kubectl("exec", name, "--", "touch", "/out/go");

  const { text, code } = await followed;
  assert.equal(code, 0);
  const numbers = [...text.matchAll(/^(?:\(.*\) )?(\d+)$/gm)].map(([, n]) => Number(n));
  assert.deepEqual(
    numbers,
    Array.from({ length: count() }, (_, at) => at + 1),
  );
  await demo.untilStatus("UP");
  assert.equal(await uid(), before);
  await demo.down();
});
