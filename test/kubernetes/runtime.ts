import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, startKubeControl, withMounts } from "./lab.ts";

const options = { skip: whyNoLab(), timeout: 240_000 };
/** Without the Node.js of this machine. */
const bare = aPodTask("echo hello", { config: {} });

const resources = { infra: "k8s", cpus: 0.5, memory: 1, image_id: "docker:lab/busybox:1" };
const settings = { OUTRIGGER_KUBERNETES_RUNTIME_IMAGE: "docker.io/lab/node:1" };
const ways = [
  { name: "from its image", task: aPodTask("echo hello"), env: {}, bundles: 1 },
  { name: "from control", task: bare, env: {}, bundles: 2 },
  {
    name: "from control that has packed nothing yet",
    task: bare,
    env: {},
    bundles: 2,
    packs: true,
  },
  {
    name: "from the image that settings name",
    task: bare,
    env: settings,
    bundles: 1,
  },
  {
    name: "from the image that settings name, with libraries that its own image lacks",
    task: aPodTask("echo hello", { config: {}, resources }),
    env: settings,
    bundles: 1,
  },
];

for (const { name, task, env, bundles, packs } of ways)
  test(`a pod has Node.js ${name}`, options, async (t) => {
    const { control, kubectl } = await startKubeControl(t, env);
    if (packs) rmSync(join(control.home, "control/bundles"));
    const run = async (cluster: ReturnType<typeof clusterOf>) => {
      const begun = Date.now();
      const { text } = await cluster.follow(await cluster.launch(task));
      t.diagnostic(`first line after ${Date.now() - begun} ms`);
      assert.match(text, /hello/);
    };
    const [first, second] = [clusterOf(control, "first"), clusterOf(control, "second")];
    await run(first);
    await run(second);

    const pod = await kubectl("get", "pods", "--output=jsonpath={.items[0].metadata.name}");
    const list = await kubectl("exec", pod, "--", "sh", "-c", "ls ~/.outrigger/bundles");
    assert.equal(list.split("\n").length, bundles);
    await Promise.all([first.down(), second.down()]);
  });

test("an image whose user has no home and no name gets a home", options, async (t) => {
  const { control } = await startKubeControl(t);
  const cluster = clusterOf(control, "nameless");
  const user = { securityContext: { runAsUser: 1234, runAsGroup: 1234 } };
  const config = { kubernetes: withMounts({}, user) };
  const task = aPodTask('cd && echo written > own && echo "$(id -u) $HOME $(cat ~/own)"', {
    config,
  });

  const { text } = await cluster.follow(await cluster.launch(task));
  assert.match(text, /1234 \/tmp\/home written/);
  const again = await cluster.follow(await cluster.exec(aPodTask("cat ~/own")));
  assert.match(again.text, /written/);
  await cluster.down();
});
