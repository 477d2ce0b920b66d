import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { readTask } from "../../contract/task.ts";
import { readTaskFiles } from "../interop/tasks.ts";

const root = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const schema = z.fromJSONSchema(JSON.parse(read("docs/schemas/task.json")));

/** What an editor would underline in a task file, part by part. */
const issuesOf = (text: string): string[] =>
  parseAllDocuments(text, { merge: true }).flatMap((part) => {
    const { error } = schema.safeParse(part.toJS() ?? {});
    return error === undefined ? [] : [z.prettifyError(error)];
  });

for (const file of globSync("examples/*.yaml", { cwd: root }))
  test(`the schema accepts ${file}`, () => assert.deepEqual(issuesOf(read(file)), []));

test("the schema accepts what the reader of tasks accepts", () => {
  const files = readTaskFiles(read("test/interop/lines/tasks.txt"));
  const accepted = files.filter(
    ({ text }) => readTask(text, { envs: { A: "a" }, secrets: { S: "s" } }).ok,
  );
  assert.ok(accepted.length > 50);
  const refused = accepted.flatMap(({ name, text }) => {
    const issues = issuesOf(text);
    return issues.length === 0 ? [] : [{ name, issues }];
  });
  assert.deepEqual(refused, []);
});

const wrong = {
  "a misspelled field": "name: x\nsteup: echo",
  "a misspelled field of resources": "resources: {acelerators: H100}",
  "a misspelled field of a candidate": "resources: {any_of: [{cpu: 4}]}",
  "a misspelled field of a service": "service: {readyness_probe: /}",
  "a misspelled field of a probe": "service: {readiness_probe: {path: /, timeout: 3}}",
  "a misspelled field of a hook": "config: {hooks: [{run: echo, event: [stop]}]}",
  "a hook without a script": "config: {hooks: [{events: [stop]}]}",
  "an unknown event": "config: {hooks: [{run: echo, events: [start]}]}",
  "hooks beside config": "hooks: []",
  "no nodes": "num_nodes: 0",
  "an unknown tier": "resources: {disk_tier: huge}",
};
for (const [what, text] of Object.entries(wrong))
  test(`the schema refuses ${what}, as the reader does`, () => {
    assert.equal(issuesOf(text).length, 1);
    assert.equal(readTask(text).ok, false);
  });
