import assert from "node:assert/strict";
import { test } from "node:test";
import { redactSecrets } from "../../contract/task.ts";
import { taskOf } from "./task-cases.ts";

test("values of secrets are replaced and everything else stays as it is written", () => {
  const text = [
    "name: a # a comment",
    "secrets:",
    "  A: hunter2   # why",
    "  B: |",
    "    line 1",
    "    line 2",
    "  'secrets:STORED':",
    "  C: 'quoted'",
    "run: echo secrets",
    "",
  ].join("\n");

  assert.equal(
    redactSecrets(text),
    [
      "name: a # a comment",
      "secrets:",
      '  A: "[secret]"   # why',
      '  B: "[secret]"',
      "  'secrets:STORED':",
      '  C: "[secret]"',
      "run: echo secrets",
      "",
    ].join("\n"),
  );
});

test("the copy of the original text is redacted too", () => {
  const text =
    "secrets: {A: hunter2}\n_user_specified_yaml: |\n  secrets:\n    A: hunter2\n  run: x\n";
  const shown = redactSecrets(text);

  assert.equal(shown.includes("hunter2"), false);
  assert.match(shown, /run: x/);
  assert.equal(taskOf(shown).secrets["A"]?.reveal(), "[secret]");
});

test("every part of a document is redacted", () => {
  const shown = redactSecrets("name: p\n---\nsecrets: {A: one1}\n---\nsecrets: {B: two2}\n");

  assert.equal(/one1|two2/.test(shown), false);
});

test("aliases, merge keys and registry passwords do not give secrets away", () => {
  const texts = [
    "envs: &e {A: hunter2}\nsecrets: *e\n",
    "envs: {A: &a hunter2}\nsecrets: {B: *a}\n",
    "envs: &e {A: hunter2}\nsecrets: {<<: *e}\n",
    "secrets: {A: {deep: [hunter2]}}\n",
    "resources: {_docker_login_config: {username: u, password: hunter2}}\n",
  ];
  for (const text of texts) assert.equal(redactSecrets(text).includes("hunter2"), false, text);
});

test("references to stored secrets stay", () => {
  const text = "secrets: ['secrets:A', 'secrets:B']\n";

  assert.equal(redactSecrets(text), text);
});

test("a text that is not YAML is not shown at all", () => {
  assert.equal(redactSecrets("secrets: {A: hunter2").includes("hunter2"), false);
});
