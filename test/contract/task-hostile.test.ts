import assert from "node:assert/strict";
import { test } from "node:test";
import { maxIssues } from "../../contract/task/issues.ts";
import { parseYaml } from "../../contract/task/yaml-text.ts";
import { readTask, redactSecrets } from "../../contract/task.ts";
import { readTasks, refusedTasks } from "../fixtures/hostile-tasks.ts";
import { issueLines, taskOf } from "./task-cases.ts";

/** Of processor time; each takes a fraction of a second on a machine of today. */
const mostMs = 10_000;

for (const [what, text] of Object.entries(refusedTasks))
  test(`${what}: refused in little time`, () => {
    const before = process.cpuUsage();
    const reading = readTask(text);

    const { user, system } = process.cpuUsage(before);
    assert.equal(reading.ok, false);
    assert.ok(!reading.ok && reading.issues.length > 0 && reading.issues.length <= maxIssues);
    for (const { message } of reading.issues) assert.ok(message.length <= 400, message);
    assert.ok(user + system < mostMs * 1_000, "took too long");
    assert.equal(typeof redactSecrets(text), "string");
  });

for (const [what, { text, reads }] of Object.entries(readTasks))
  test(`${what}: read`, () => {
    const [field, value] = reads;

    assert.deepEqual(Object.entries(taskOf(text)).find(([name]) => name === field)?.[1], value);
  });

test("a document with as many variables as a person may need is read", () => {
  const envs = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`V${at}`, "x"]));

  assert.deepEqual(taskOf(JSON.stringify({ run: "true", envs })).envs, envs);
});

test("keys that mean something to JavaScript are keys like any other", () => {
  const task = taskOf(
    'resources: {labels: {__proto__: a, constructor: b}}\nenvs: {__proto__: "1"}',
  );
  const labels = task.resources.candidates[0]?.labels ?? {};

  assert.deepEqual(Object.entries(labels), [
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
  assert.deepEqual(Object.entries(task.envs), [["__proto__", "1"]]);
  assert.deepEqual(issueLines("constructor: 1\n__proto__: 2\ntoString: 3").length, 3);
  assert.equal(({} as Record<string, unknown>)["a"], undefined);
});

test("what a text was parsed into is at hand when it is read again, also after a few others", () => {
  const parsed = parseYaml("run: 'true'");
  for (let other = 0; other < 5; other += 1) parseYaml(`run: echo ${other}`);

  assert.equal(parseYaml("run: 'true'"), parsed);
  assert.notEqual(parseYaml("run: 'false'"), parsed);
});

test("what a text that is refused, or a large one, was parsed into is not kept", () => {
  for (const text of ["run: [", `run: ${"x".repeat(300 * 1024)}`])
    assert.notEqual(parseYaml(text), parseYaml(text));
});

test("a typical task is read in less than 5 ms", () => {
  const text = `name: typical
num_nodes: 2
workdir: .
resources:
  infra: aws/us-east-1
  accelerators: A100:8
  cpus: 32+
  memory: 128+
  disk_size: 512GB
  ports: [8080, 9000-9010]
  autostop: {idle_minutes: 30, down: true}
file_mounts:
  /data: s3://bucket
  /out: {name: my-bucket, mode: MOUNT_CACHED}
envs: {A: x, B: y}
secrets: {C: z}
config:
  hooks:
    - run: ./save.sh
      events: [stop]
      timeout: 600
setup: |
  pip install -r requirements.txt
run: |
  python train.py --data /data
  python report.py`;
  let leastMs = Infinity;
  // What the machine does besides can only slow it down.
  for (let tries = 0; tries < 50 || (tries < 2_000 && leastMs >= 5); tries += 1) {
    const anew = `${text} # ${tries}`;
    const startedAt = performance.now();
    taskOf(anew);
    leastMs = Math.min(leastMs, performance.now() - startedAt);
  }

  assert.ok(leastMs < 5, `${leastMs} ms`);
});
