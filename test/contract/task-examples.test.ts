import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { formatIssues } from "../../contract/task/issues.ts";
import { resourceReaders } from "../../contract/task/resource-fields.ts";
import { taskReaders } from "../../contract/task/task-fields.ts";
import { readTask } from "../../contract/task.ts";

const folder = new URL("../../examples/", import.meta.url);
const kinds: Record<string, string> = { "pipeline.yaml": "pipeline", "job-group.yaml": "group" };
const names = ["API_KEY", "HF_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
const secrets = Object.fromEntries(names.map((name) => [name, "k"]));

for (const file of readdirSync(folder).filter((name) => name.endsWith(".yaml")))
  test(`the example ${file} parses without a warning`, () => {
    const text = readFileSync(new URL(file, folder), "utf8");
    const reading = readTask(text, { secrets });

    assert.ok(reading.ok, reading.ok ? "" : formatIssues(reading.issues));
    assert.deepEqual(reading.document.warnings, []);
    assert.equal(reading.document.kind, kinds[file] ?? "task");
  });

test("the reference page names every field that a user may write", () => {
  const page = readFileSync(new URL("../../docs/task.md", import.meta.url), "utf8");
  const internal = ["file_mounts_mapping", "volume_mounts"];
  const names = [...Object.keys(taskReaders), ...Object.keys(resourceReaders)];
  const missing = names
    .filter((name) => !name.startsWith("_") && !internal.includes(name))
    .filter((name) => !page.includes(`\`${name}\``));

  assert.deepEqual(missing, []);
});
