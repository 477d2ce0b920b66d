import assert from "node:assert/strict";
import { test } from "node:test";
import { volumeOperations as rows } from "../../contract/operations/volumes.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { addDisk, aPodTask, startKubeControl } from "./lab.ts";

const claim = {
  volume_type: "k8s-pvc",
  cloud: "kubernetes",
  config: { storage_class_name: "lab" },
};

test("a claim outlives clusters, and goes only once none uses it", {
  skip: whyNoLab(),
  timeout: 300_000,
}, async (t) => {
  const lab = await startKubeControl(t);
  const { control, kubectl, get } = lab;
  const { client } = control;
  await addDisk(t, lab);
  await client.callAndGet(rows.apply, { name: "data", size: "1Gi", ...claim });
  const list = async () => (await client.callAndGet(rows.list, { refresh: "true" }))[0];
  const name = (await list())?.name_on_cloud ?? "";
  const first = clusterOf(control, "first");
  const writes = { volumes: { "/data": { name: "data", sub_path: "runs" } } };

  const { text } = await first.follow(
    await first.launch(aPodTask("echo kept > /data/file; ls -d /data/", writes)),
  );
  assert.match(text, /\/data\//);
  const used = await list();
  assert.deepEqual([used?.status, used?.usedby_clusters], ["IN_USE", ["first"]]);
  const refused = client.callAndGet(rows.delete, { names: ["data"] });
  await assert.rejects(refused, /volume data is in use by first/);
  await first.down();

  const second = clusterOf(control, "second");
  const reads = { volumes: { "~/data": "data" } };
  const read = await second.follow(await second.launch(aPodTask("cat ~/data/runs/file", reads)));
  assert.match(read.text, /kept/);
  await second.down();

  await client.callAndGet(rows.delete, { names: ["data"] });
  await until(async () => (await get("pvc", name)) === undefined || undefined);

  await t.test("one that was there before stays", async () => {
    const own = { name: "theirs", use_existing: true, ...claim, config: {} };
    await assert.rejects(client.callAndGet(rows.apply, own), /there is no claim theirs/);
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    await lab.create({ kind: "PersistentVolumeClaim", metadata: { name: "theirs" }, spec });
    await client.callAndGet(rows.apply, own);
    await client.callAndGet(rows.delete, { names: ["theirs"] });
    assert.ok(await get("pvc", "theirs"));
    assert.equal(await kubectl("get", "pvc", "--output=name"), "persistentvolumeclaim/theirs");
  });
});
