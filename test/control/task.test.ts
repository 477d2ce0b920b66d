import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument, remarksOn } from "../../control/task.ts";

const ctx = { providers: [] };

test("a remark on a service that would only be launched says how to bring it up", async () => {
  const task = readDocument(
    "resources: {ports: 80, disk_size: 9}\nservice: {readiness_probe: /}\nrun: x\n",
  );

  assert.equal(
    await remarksOn(ctx, task),
    "no effect here: service (bring it up with `outrigger serve up`), resources.disk_size\n",
  );
  assert.equal(await remarksOn(ctx, task, ["service"]), "no effect here: resources.disk_size\n");
});

test("what a task says of its pods has an effect, but for what nothing here does", async () => {
  const remarks = (pods: string) => remarksOn(ctx, readDocument(`config: {kubernetes: {${pods}}}`));

  assert.equal(await remarks("pod_config: {spec: {}}, kueue: {local_queue_name: q}"), "");
  assert.equal(
    await remarks(
      "provision_timeout: 9, dws: {enabled: true}, remote_identity: me, enable_docker: true",
    ),
    "no effect here: config.kubernetes.dws, config.kubernetes.remote_identity, config.kubernetes.enable_docker\n",
  );
});

test("ephemeral storage is of pods alone", async () => {
  const remarks = (infra: string) =>
    remarksOn(ctx, readDocument(`resources: {infra: ${infra}, ephemeral_storage: 9}`));

  assert.equal(await remarks("k8s"), "");
  assert.equal(await remarks("local"), "no effect here: resources.ephemeral_storage\n");
});

test("what cannot be served is refused with its place in the document", () => {
  const text =
    "file_mounts:\n  ~/a: {source: r2://a, mode: COPY}\n  ~/b: b\nvolumes: {/v: {host_path: /x}}\n";

  assert.throws(() => readDocument(text), {
    name: "NotSupportedError",
    message:
      'line 2, column 3: file_mounts["~/a"]: cannot be copied from such an address yet; use an s3://, gs://, hf:// or https:// address\n' +
      "line 4, column 1: volumes: this version does not support it with `host_path` (register the folder with `outrigger volumes apply`) yet, and the task could not run correctly without it",
  });
});

test("a bucket that cannot be mounted is refused with a way to have its files", () => {
  const refuses = (storage: string, message: RegExp) =>
    assert.throws(() => readDocument(`file_mounts: {~/a: ${storage}}`), { message });

  refuses("{name: my-set}", /keeps, which cannot be mounted; set `mode: COPY`, or /);
  refuses("{name: my-set, store: r2}", /`store: R2` by its name; .* address .* `source`$/);
  refuses("{source: https://a/b}", /such an address cannot be mounted; use `mode: COPY`$/);
  readDocument("file_mounts: {~/a: {source: s3://a, mode: MOUNT_CACHED}}");
  readDocument("file_mounts: {~/a: {name: my-set, store: gcs}}");
});
