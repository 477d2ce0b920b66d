import assert from "node:assert/strict";
import { test } from "node:test";
import { maxIssues, toValidationItems } from "../../contract/task/issues.ts";
import { readTask, singleTask } from "../../contract/task.ts";
import { documentOf, issueLines, taskOf } from "./task-cases.ts";

test("an empty document is an empty task", () => {
  for (const text of ["", "---\n", "# nothing\n", "{}", "null"]) {
    const { kind, name, tasks } = documentOf(text);

    assert.equal(kind, "task");
    assert.equal(name, undefined);
    assert.equal(tasks[0]?.nodes, 1);
    assert.equal(tasks[0]?.hooks, undefined);
    assert.equal(tasks[0]?.resources.candidates.length, 1);
  }
});

test("a key that is null counts as left out", () => {
  const task = taskOf("name:\nrun:\nresources:\nservice:\nconfig:\nnum_nodes:\nenvs:\nsecrets:");

  assert.equal(task.name, undefined);
  assert.equal(task.nodes, 1);
  assert.deepEqual(task.envs, {});
});

test("setup and run may be lists of lines", () => {
  const task = taskOf("setup: [a, b]\nrun:\n- c\n- d");

  assert.equal(task.setup, "a\nb");
  assert.equal(task.run, "c\nd");
});

test("the rest of the top level is read", () => {
  const task = taskOf(
    "name: a.b--c\nnum_nodes: 3\nevent_callback: echo\ninputs: {s3://a: 1.5}\noutputs: {gs://b: 2}\napi_server_access: no\nmanaged_secrets: [A, {B: {mount_path: /b}}]",
  );

  assert.equal(task.name, "a.b--c");
  assert.equal(task.nodes, 3);
  assert.equal(task.eventCallback, "echo");
  assert.deepEqual(task.managedSecrets, [
    { name: "A", mountPath: undefined },
    { name: "B", mountPath: "/b" },
  ]);
});

test("a work folder is a folder or a repository", () => {
  assert.deepEqual(taskOf("workdir: ~/code").workdir, { kind: "folder", path: "~/code" });
  for (const url of ["https://h/a.git", "ssh://git@h/a", "git@h.org:a/b.git"])
    assert.deepEqual(taskOf(`workdir: {url: '${url}', ref: v1}`).workdir, {
      kind: "git",
      url,
      ref: "v1",
    });
});

test("words that older YAML reads as numbers or booleans mean what they meant", () => {
  const task = taskOf("name: 1e3\nresources: {use_spot: yes}\nenvs: {A: 1.10, B: true, C: 0o17}");

  assert.equal(task.name, "1e3");
  assert.equal(task.resources.candidates[0]?.useSpot, true);
  assert.deepEqual(task.envs, { A: "1.10", B: "true", C: "0o17" });
});

test("aliases and merge keys are resolved, own keys first", () => {
  const task = taskOf("envs: &e {A: x, B: y}\nsecrets:\n  <<: *e\n  B: z");

  assert.equal(task.secrets["A"]?.reveal(), "x");
  assert.equal(task.secrets["B"]?.reveal(), "z");
});

test("all issues come at once, in the order of the text", () => {
  const text = "num_nodes: 0\nresources:\n  cpus: x\n  ports:\n    - 80\n    - 0\nrnu: x\n";

  assert.deepEqual(issueLines(text), [
    "line 1, column 1: num_nodes: must be a whole number from 1 to 10000",
    'line 3, column 3: resources.cpus: must be a positive number, or one with a plus: 4 or "4+"',
    "line 6, column 7: resources.ports[1]: must be between 1 and 65535",
    "line 7, column 1: rnu: unknown field `rnu`; did you mean `run`?",
  ]);
});

test("no more than the first issues are reported", () => {
  const lines = Array.from({ length: 200 }, (_, at) => `zzz${at}: 1`);

  assert.equal(issueLines(lines.join("\n")).length, maxIssues);
});

test("issues become items of a 422 answer", () => {
  const reading = readTask("resources: {ports: [0]}");

  assert.deepEqual(toValidationItems(reading.ok ? [] : reading.issues), [
    {
      loc: ["body", "task", "resources", "ports", 0],
      msg: "must be between 1 and 65535",
      type: "value_error",
    },
  ]);
});

test("the type of an issue tells its kind", () => {
  const types = (text: string) => {
    const reading = readTask(text);
    return reading.ok ? [] : reading.issues.map(({ type }) => type);
  };

  assert.deepEqual(types("run: [a"), ["yaml_syntax"]);
  assert.deepEqual(types("run: a\nrun: b"), ["duplicate_key"]);
  assert.deepEqual(types("rnu: a"), ["extra_forbidden"]);
  assert.deepEqual(types("config: {hooks: [{}]}"), ["missing"]);
  assert.deepEqual(types("num_nodes: two"), ["type_error"]);
  assert.deepEqual(types("num_nodes: 0"), ["value_error"]);
});

test("operations that take one task refuse several", () => {
  assert.equal(singleTask(documentOf("name: a"), "launch").name, "a");
  assert.throws(() => singleTask(documentOf("name: p\n---\nrun: a\n---\nrun: b"), "launch"), {
    message:
      "launch takes one task, and this document is a pipeline of 2; run it as a managed job: outrigger jobs launch FILE",
  });
  const group = documentOf(
    "name: g\nexecution: parallel\n---\nname: a\n---\nname: b\n---\nname: c",
  );
  assert.throws(
    () => singleTask(group, "serve up"),
    /^NotSupportedError: serve up .* job group of 3;/,
  );
});
