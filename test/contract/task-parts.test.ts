import assert from "node:assert/strict";
import { test } from "node:test";
import { readTask } from "../../contract/task.ts";
import { documentOf, taskOf } from "./task-cases.ts";

const fromExistingClient = `
name: null
---
name: demo
workdir: /home/me/code
num_nodes: 2
resources:
  any_of:
  - infra: kubernetes
    cpus: '2'
    disk_size: 256
    autostop:
      idle_minutes: 10
      down: true
      wait_for: jobs_and_ssh
    _cluster_config_overrides:
      kubernetes:
        provision_timeout: 600
      hooks:
      - run: echo bye
        timeout: 5
    _is_image_managed: false
  - infra: aws/us-east-1
    disk_size: 256
    autostop:
      idle_minutes: 10
      down: true
      wait_for: jobs_and_ssh
    _cluster_config_overrides:
      kubernetes:
        provision_timeout: 600
      hooks:
      - run: echo bye
        timeout: 5
envs:
  A: b
secrets:
  TOKEN: abc
setup: pip install x
run: python x.py
file_mounts: {}
volumes: {}
file_mounts_mapping:
  /home/me/code: /home/me/code
volume_mounts: []
_metadata: {}
_user_specified_yaml: |
  name: demo
  run: python x.py
`;

test("the form that existing clients send is one task", () => {
  const document = documentOf(fromExistingClient);
  const [task] = document.tasks;

  assert.equal(document.kind, "task");
  assert.equal(document.name, "demo");
  assert.equal(document.tasks.length, 1);
  assert.deepEqual(document.warnings, []);
  assert.deepEqual(task?.hooks, [
    { run: "echo bye", events: ["stop", "preemption", "down"], timeoutSeconds: 5 },
  ]);
  assert.deepEqual(task?.config, { kubernetes: { provision_timeout: 600 } });
  assert.deepEqual(task?.uploadedPaths, { "/home/me/code": "/home/me/code" });
  assert.deepEqual(
    task?.resources.candidates.map(({ cloud, region }) => [cloud, region]),
    [
      ["kubernetes", undefined],
      ["aws", "us-east-1"],
    ],
  );
});

test("a task without a name takes the one of the header", () => {
  assert.equal(taskOf("name: h\n---\nrun: a").name, "h");
  assert.equal(taskOf("name: h\n---\nname: t").name, "t");
  assert.equal(documentOf("name: h\n---\nname: t").name, "h");
});

test("one document with only a name is a task", () => {
  assert.equal(taskOf("name: a").name, "a");
  assert.equal(taskOf("name: a\n---\n").name, "a");
});

test("a pipeline names its tasks", () => {
  const document = documentOf("name: p\nexecution: serial\n---\nrun: a\n---\nname: b\n---\n");

  assert.equal(document.kind, "pipeline");
  assert.deepEqual(
    document.tasks.map(({ name }) => name),
    ["p-0", "b"],
  );
});

test("several tasks without a header are a pipeline without a name", () => {
  const document = documentOf("run: a\n---\nname: b");

  assert.equal(document.kind, "pipeline");
  assert.equal(document.name, undefined);
});

test("a job group says whom it waits for and how long others go on", () => {
  const text =
    "name: g\nexecution: parallel\nprimary_tasks: [a]\ntermination_delay: {default: 30s, b: 10m}\n---\nname: a\n---\nname: b";
  const document = documentOf(text);

  assert.equal(document.kind, "group");
  assert.deepEqual(document.group, {
    primaryTasks: ["a"],
    terminationDelaySeconds: { default: 30, byTask: { b: 600 } },
  });
});

test("a delay for the whole group is seconds or a time", () => {
  for (const [delay, seconds] of [
    ["5", 5],
    ["2h", 7200],
    ["1w", 604_800],
  ] as const) {
    const head = `name: g\nexecution: PARALLEL\ntermination_delay: ${delay}`;
    const { group } = documentOf(`${head}\n---\nname: a\n---\nname: b`);
    assert.deepEqual(group?.terminationDelaySeconds, { default: seconds, byTask: {} });
  }
});

test("values that the caller gives reach every task", () => {
  const reading = readTask("name: p\n---\nenvs: {A:}\n---\nrun: x", { envs: { A: "1" } });

  assert.ok(reading.ok);
  assert.deepEqual(
    reading.document.tasks.map(({ envs }) => envs["A"]),
    ["1", "1"],
  );
});
