import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { Secret } from "../../common/secret.ts";
import { expandPorts } from "../../contract/task/ports.ts";
import { fillTemplate, substituteText, toTemplate } from "../../contract/task/substitution.ts";
import { readTask, redactSecrets } from "../../contract/task.ts";
import { documentOf, taskOf } from "./task-cases.ts";

const cases = Number(process.env["TASK_CASES"] ?? 60);
const runs = { numRuns: cases };
/** For properties that take less than a millisecond. */
const manyRuns = { numRuns: 5 * cases };
const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const variable = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,6}$/);
const range = fc
  .tuple(fc.integer({ min: 1, max: 65_000 }), fc.integer({ min: 0, max: 300 }))
  .map(([first, more]) => `${first}-${first + more}`);

const validTask = fc.record(
  {
    name,
    num_nodes: fc.integer({ min: 1, max: 9 }),
    setup: fc.string(),
    run: fc.string({ unit: "grapheme" }),
    envs: fc.dictionary(variable, fc.string()),
    resources: fc.record(
      {
        cpus: fc.oneof(fc.integer({ min: 1, max: 99 }), fc.constant("4+")),
        memory: fc.constantFrom("16", "16GB+", 8),
        accelerators: fc.oneof(
          name,
          fc.dictionary(name, fc.integer({ min: 1, max: 8 }), { minKeys: 1 }),
        ),
        ports: fc.array(fc.oneof(range, fc.integer({ min: 1, max: 65_535 }))),
        labels: fc.dictionary(name, fc.string()),
        autostop: fc.oneof(fc.boolean(), fc.integer({ min: 0, max: 99 }), fc.constant("2h")),
      },
      { requiredKeys: [] },
    ),
    config: fc.record({
      hooks: fc.array(
        fc.record(
          {
            run: name,
            events: fc.uniqueArray(fc.constantFrom("stop", "preemption", "down"), { minLength: 1 }),
            timeout: fc.integer({ min: 1, max: 86_400 }),
          },
          { requiredKeys: ["run"] },
        ),
        { maxLength: 5 },
      ),
    }),
  },
  { requiredKeys: [] },
);

test("block style, flow style and JSON of a task mean the same", () => {
  const property = fc.property(validTask, (task) => {
    const fromJson = documentOf(JSON.stringify(task));

    assert.deepEqual(documentOf(stringify(task)), fromJson);
    assert.deepEqual(documentOf(`name: null\n---\n${stringify(task)}`), fromJson);
  });
  fc.assert(property, runs);
});

test("ports keep their meaning and stay as they are when read again", () => {
  const portsOf = (ports: readonly string[]) =>
    taskOf(JSON.stringify({ resources: { ports } })).resources.candidates[0]?.ports ?? [];
  const property = fc.property(fc.array(range), (ranges) => {
    const canonical = portsOf(ranges);
    const expected = [...new Set(expandPorts(ranges))].sort((a, b) => a - b);

    assert.deepEqual(expandPorts(canonical), expected);
    assert.deepEqual(portsOf(canonical), canonical);
  });
  fc.assert(property, runs);
});

const references = fc
  .array(fc.constantFrom("$", "$$", "${", "}", "A", "$A", `\${A}`, "$S", `\${S}`, "$U", "x", "1"))
  .map((pieces) => pieces.join(""));

test("a template that is filled in is what plain substitution gives", () => {
  const property = fc.property(references, references, references, (text, env, secret) => {
    const lookup = (wanted: string) => (wanted === "A" ? env : undefined);
    const both = (wanted: string) => (wanted === "S" ? secret : lookup(wanted));
    const template = toTemplate(text, lookup, new Set(["S"]));

    assert.equal(fillTemplate(template, { S: new Secret(secret) }), substituteText(text, both));
  });
  fc.assert(property, manyRuns);
});

test("no text makes the reader throw", () => {
  const pieces = [
    "a",
    ":",
    " ",
    "\n",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&x ",
    "*x",
    "|",
    "'",
    '"',
    "---\n",
    "?",
    "#",
    "\t",
  ];
  const noise = fc
    .array(fc.constantFrom(...pieces, "resources", "run", "<<", "!t"))
    .map((all) => all.join(""));
  // What `fc.string({ unit: "binary" })` gives, without its table of every character.
  const anyText = fc
    .array(fc.integer({ min: 0, max: 0x10ffff }))
    .map((points) => String.fromCodePoint(...points));
  const property = fc.property(fc.oneof(noise, anyText), (text) => {
    readTask(text);
    redactSecrets(text);
  });
  fc.assert(property, manyRuns);
});

test("any data under any field is read or refused, never thrown at", () => {
  const fields = [
    "name",
    "workdir",
    "resources",
    "file_mounts",
    "volumes",
    "envs",
    "secrets",
    "service",
    "pool",
    "config",
    "managed_secrets",
    "run",
  ];
  const property = fc.property(fc.constantFrom(...fields), fc.jsonValue(), (field, value) => {
    readTask(JSON.stringify({ [field]: value }));
    readTask(
      JSON.stringify({
        [field]: { hooks: value, any_of: value, readiness_probe: value, "/a": value },
      }),
    );
  });
  fc.assert(property, manyRuns);
});

test("a redacted text means the same but for its secrets, which it does not hold", () => {
  const value = fc.stringMatching(/^[a-z ]{8,20}$/).map((text) => `S3CRET${text}S3CRET`);
  const property = fc.property(validTask, fc.dictionary(variable, value), (task, secrets) => {
    const text = stringify({ ...task, secrets, _user_specified_yaml: stringify({ secrets }) });
    const shown = redactSecrets(text);
    const values = Object.values(taskOf(shown).secrets).map((secret) => secret.reveal());

    assert.equal(shown.includes("S3CRET"), false);
    assert.deepEqual({ ...taskOf(shown), secrets: {} }, { ...taskOf(text), secrets: {} });
    assert.deepEqual(new Set(values), new Set(Object.keys(secrets).map(() => "[secret]")));
  });
  fc.assert(property, runs);
});
