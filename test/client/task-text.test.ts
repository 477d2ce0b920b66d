import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import type { TaskOptions } from "../../client/catalog/values.ts";
import { localPathsOf, readEntrypoint, toTaskText } from "../../client/task-text.ts";

const place = { cwd: "/here", env: {}, secrets: {} };
const merged = (source: string, options: TaskOptions, more = {}) =>
  parse(toTaskText(source, options, { ...place, ...more }));

const merges: readonly [string, string, TaskOptions, unknown][] = [
  ["nothing", "run: echo 1.10", {}, { run: "echo 1.10" }],
  ["an empty task", "", { cpus: "4+" }, { resources: { cpus: "4+" } }],
  ["a name", "name: a\nrun: x", { name: "b", numNodes: 2 }, { name: "b", run: "x", num_nodes: 2 }],
  [
    "GPUs under either name",
    "resources: {gpus: A100, cpus: 2}",
    { gpus: "H100:8" },
    { resources: { accelerators: "H100:8", cpus: 2 } },
  ],
  [
    "infra in place of its parts",
    "resources: {cloud: aws, region: us-east-1}",
    { infra: "local" },
    { resources: { infra: "local" } },
  ],
  ["none", "resources: {accelerators: H100}", { gpus: "none" }, { resources: {} }],
  [
    "every candidate",
    "resources: {any_of: [{cpus: 2, use_spot: true}, {cpus: 4}]}",
    { cpus: "8" },
    { resources: { any_of: [{ use_spot: true }, {}], cpus: "8" } },
  ],
];

for (const [name, source, options, expected] of merges)
  test(`options are laid over the task: ${name}`, () => {
    assert.deepEqual(merged(source, options), expected);
  });

test("variables win over those of the file", () => {
  const values = { env: { A: "2" }, secrets: { TOKEN: "t" } };

  assert.deepEqual(merged("envs: {A: 1, B: x}", {}, values), {
    envs: { A: "2", B: "x" },
    secrets: { TOKEN: "t" },
  });
});

test("local paths become absolute, others stay", () => {
  const source =
    "workdir: .\nfile_mounts: {/a: ./a, /b: ~/b, /c: 's3://c', /d: {source: d, mode: COPY}}";

  const task = merged(source, {});

  assert.equal(task.workdir, "/here");
  assert.deepEqual(task.file_mounts, {
    "/a": "/here/a",
    "/b": join(homedir(), "b"),
    "/c": "s3://c",
    "/d": { source: "/here/d", mode: "COPY" },
  });
  assert.deepEqual(localPathsOf(toTaskText("workdir: .", {}, place)), ["/here"]);
  assert.deepEqual(localPathsOf("workdir: {url: 'https://x/y'}\nrun: x"), []);
});

test("of several documents the header is left alone", () => {
  const text = toTaskText("name: group\n---\nrun: a\n---\nrun: b\n", { cpus: "1" }, place);

  const documents = parseAllDocuments(text).map((document) => document.toJS());
  assert.deepEqual(documents, [
    { name: "group" },
    { run: "a", resources: { cpus: "1" } },
    { run: "b", resources: { cpus: "1" } },
  ]);
});

test("an entrypoint is a file, or a command", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-task-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "task.yaml"), "run: from file\n");
  writeFileSync(join(folder, "empty.yaml"), "# nothing yet\n");

  const read = (...words: string[]) => readEntrypoint(words, folder);
  assert.deepEqual(read("task.yaml"), { text: "run: from file\n", file: "task.yaml" });
  assert.deepEqual(parse(read("echo: 'a b'").text), { run: "echo: 'a b'" });
  assert.deepEqual(read("echo", "hi"), { text: "run: echo hi\n" });
  assert.deepEqual(read("other.yaml", "x"), { text: "run: other.yaml x\n" });
  assert.equal(parse(read("x".repeat(5_000)).text).run.length, 5_000);
  assert.throws(() => read("other.yaml"), { name: "NotFoundError" });
  const refused = (...words: string[]) => ({
    name: "UsageError",
    message: new RegExp(words.join()),
  });
  assert.throws(
    () => read("task.yaml", "b.yaml", "c"),
    refused("^task.yaml .* arguments: b.yaml c; name"),
  );
  assert.throws(() => read("."), refused("^\\. is a folder; name the YAML file"));
  assert.throws(() => read("empty.yaml"), refused("^empty.yaml is empty; write what"));
});

test("what is not YAML, or no mapping, is refused", () => {
  assert.throws(() => toTaskText("run: [", {}, place), { name: "InvalidTaskError" });
  assert.throws(() => toTaskText("just words", {}, place), { name: "InvalidTaskError" });
});
