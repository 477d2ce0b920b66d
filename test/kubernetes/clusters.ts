import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, registryLogin, startKubeControl } from "./lab.ts";

const skip = whyNoLab();
test("a cluster of two pods, from its launch to its end", { skip, timeout: 180_000 }, async (t) => {
  const { control, kubectl } = await startKubeControl(t);
  const pair = clusterOf(control, "pair");

  await t.test("its job runs on both, and its log has both", async () => {
    const begun = Date.now();
    const task = aPodTask("echo rank $OUTRIGGER_NODE_RANK of $(wc -l <<< $OUTRIGGER_NODE_IPS)", {
      num_nodes: 2,
      resources: { ...{ infra: "k8s", cpus: 0.5, memory: 1 }, image_id: "docker:lab/debian:1" },
      secrets: registryLogin,
      // Node.js is brought to these.
      config: {},
    });
    const id = await pair.launch(task);
    const { code, text } = await pair.follow(id);
    t.diagnostic(`launched in ${Date.now() - begun} ms`);
    assert.equal(code, 0, text);
    assert.match(text, /rank 0 of 2/);
    assert.match(text, /rank 1 of 2/);
  });

  await t.test("pods, their service and their login say what they belong to", async () => {
    const selector = "--selector=outrigger/cluster=pair";
    const all = await kubectl("get", "pods,service,secret", selector, "--output=name");
    assert.match(all, /^(pod\/\S+\n){2}service\/\S+\nsecret\/\S+$/);
    const addresses = async (kind: string, path: string) => {
      const all = await kubectl("get", kind, selector, `--output=jsonpath={.items[*]${path}}`);
      return all.split(" ").sort();
    };
    const ofPods = await addresses("pods", ".status.podIP");
    assert.equal(ofPods.length, 2);
    assert.deepEqual(await addresses("endpointslices", ".endpoints[*].addresses[0]"), ofPods);
    const config = "--output=jsonpath={.items[0].data['\\.dockerconfigjson']}";
    const login = Buffer.from(await kubectl("get", "secret", selector, config), "base64");
    assert.deepEqual(JSON.parse(String(login)), {
      auths: { "docker.io": { username: "ann", password: "hunter2" } },
    });
  });

  await t.test("a second job runs at once, and both are in the queue", async () => {
    const begun = Date.now();
    const { text } = await pair.follow(await pair.exec(aPodTask("echo again")));
    t.diagnostic(`exec in ${Date.now() - begun} ms`);
    assert.match(text, /again/);
    assert.deepEqual(
      (await pair.queue()).map(({ status }) => status),
      ["SUCCEEDED", "SUCCEEDED"],
    );
  });

  await t.test("it cannot be stopped, and says what to do instead", async () => {
    const { code, stderr } = await control.cli("stop", "-y", "pair");
    assert.notEqual(code, 0);
    assert.match(stderr, /cannot stop nodes; take the cluster down/);
  });

  await t.test("nothing is left once it is down", async () => {
    await pair.down();
    assert.equal(await pair.status(), undefined);
    const ours = ["pods,services,secrets", "--selector=outrigger/control"];
    await until(async () => (await kubectl("get", ...ours, "--output=name")) === "" || undefined);
  });
});
