import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { condaRun, condaSays, installConda } from "../helpers/conda.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, startKubeControl } from "./lab.ts";

test("a pod has sudo, the conda of its image, and the ~/.bashrc that set-up wrote", {
  skip: whyNoLab(),
  timeout: 120_000,
}, async (t) => {
  const { control } = await startKubeControl(t);
  const demo = clusterOf(control, "demo");
  const setup = `sudo touch /usr/own\necho 'export A=1' >> ~/.bashrc\n${installConda("/opt/conda")}`;
  const run = `sudo -E env | grep ^A=\nls /usr/own\n${condaRun}`;
  const says = `A=1\n/usr/own\n${condaSays}`;

  const first = await demo.follow(await demo.launch(aPodTask(run, { setup })));
  const second = await demo.follow(await demo.exec(aPodTask(run)));

  assert.deepEqual([first.text, second.text], [says, says]);
  await demo.down();
});
