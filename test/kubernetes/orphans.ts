import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, leavesLine, outFolder, startKubeControl, untilUpAgain } from "./lab.ts";

interface Made {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly terminationGracePeriodSeconds: number; readonly volumes: object[] };
}

test("pods outlive the database: their clusters are adopted as they were, or ended with all they have", {
  skip: whyNoLab(),
  timeout: 180_000,
}, async (t) => {
  const { control, kubectl, get } = await startKubeControl(t);
  const [kept, left] = [clusterOf(control, "kept"), clusterOf(control, "left")];
  const config = { kubernetes: outFolder(t).kubernetes, hooks: [leavesLine("preemption")] };
  await kept.launch(aPodTask("sleep 3600", { config }));
  const resources = { infra: "k8s", cpus: 0.25, memory: 1 };
  await left.launch(aPodTask("sleep 3600", { num_nodes: 2, resources, config }));
  const of = (name: string) => `--selector=outrigger/cluster=${name}`;
  const name = await kubectl(
    "get",
    "pods",
    of("kept"),
    "--output=jsonpath={.items[0].metadata.name}",
  );
  const pod = () => get<Made>("pod", name);
  const before = await pod();

  await control.end("SIGKILL");
  const folder = join(control.home, "control");
  for (const file of readdirSync(folder).filter((one) => one.startsWith("state.db")))
    rmSync(join(folder, file));
  await control.start();

  const { stdout } = await control.cli("api", "orphans");
  assert.match(stdout, /^kept\s.*\bkubernetes\s+1\s+1$/m);
  assert.match(stdout, /^left\s.*\bkubernetes\s+2\s+1$/m);
  assert.equal((await control.cli("api", "orphans", "--adopt", "kept")).code, 0);
  await kept.untilStatus("UP");
  assert.equal(await kept.jobStatus(1), "RUNNING");
  assert.equal((await pod())?.metadata.uid, before?.metadata.uid);

  await untilUpAgain(control, "kept", () => kubectl("delete", "pod", name, "--grace-period=1"));
  const after = await pod();
  assert.notEqual(after?.metadata.uid, before?.metadata.uid);
  assert.equal(after?.spec.terminationGracePeriodSeconds, 35);
  assert.deepEqual(after?.spec.volumes, before?.spec.volumes);

  assert.equal((await control.cli("api", "orphans", "--end", "left")).code, 0);
  const ours = ["get", "pods,services,secrets", "--output=name"];
  await until(async () => (await kubectl(...ours, of("left"))) === "" || undefined);
  assert.match((await control.cli("api", "orphans")).stderr, /No orphans/);
  await kept.down();
  await until(
    async () => (await kubectl(...ours, "--selector=outrigger/control")) === "" || undefined,
  );
});
