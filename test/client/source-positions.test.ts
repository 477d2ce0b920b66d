import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { formatIssues, toValidationItems } from "../../contract/task/issues.ts";
import { readTask } from "../../contract/task.ts";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";
import { two } from "./usual-routes.ts";

/** Reads a task as control does, and refuses it as control does. */
const refusing: Handler = ({ body }, res) => {
  const reading = readTask(String(body["task"]));
  const issues = reading.ok ? [] : reading.issues;
  const placed = issues.map((issue) => ({
    ...issue,
    message: `line ${issue.line}, column ${issue.column}: ${issue.message}`,
  }));
  sendJson(res, 422, { detail: toValidationItems(placed), type: "InvalidTaskError" });
};

const cpus = 'resources.cpus: must be a positive number, or one with a plus: 4 or "4+"';
const nonsense = "nonsense: unknown field `nonsense`; check its place and spelling";
const blank = "\n\n# why\n\nresources:\n  cpus: banana\nrun: x\n";
const flow = "{workdir: ., run: x, resources: {cpus: banana}, nonsense: 1}\n";

/** A task, the words to run it with, and what is said of it. */
const refusals: readonly [string, string, string, string[]][] = [
  ["after blank lines", blank, "launch -y -c dev task.yaml", [`task.yaml:6:3: ${cpus}`]],
  ["after blank lines", blank, "exec dev task.yaml", [`task.yaml:6:3: ${cpus}`]],
  [
    "in flow style",
    flow,
    "launch -y -c dev --env A=1 task.yaml",
    [`task.yaml:1:34: ${cpus}`, `task.yaml:1:49: ${nonsense}`],
  ],
  [
    "in the second of two",
    "run: x\n---\n\n\nrun: y\nnonsense: 1\n",
    "exec dev --env A=1 task.yaml",
    [`task.yaml:6:1: tasks[1].${nonsense}`],
  ],
  [
    "of YAML itself",
    "run: x\nnum_nodes: 2\n  setup: y\nrun: z\n",
    "launch -y -c dev task.yaml",
    [
      "task.yaml:2:12: not valid YAML: a value holds `: `, or the line below is indented too far; put the value in quotes, or fix the indentation",
    ],
  ],
  [
    "of its kind",
    "- run: x\n",
    "exec dev task.yaml",
    ["task.yaml:1:1: the task must be a mapping of fields, such as `run: ...`"],
  ],
  [
    "of keys given twice",
    "run: a\nrun: b\nenvs: {A: 1, A: 2}\n",
    "launch -y -c dev task.yaml",
    [
      "task.yaml:2:1: run: `run` is given on lines 1 and 2; keep one of them",
      "task.yaml:3:14: envs.A: `A` is given twice on line 3; keep one of them",
    ],
  ],
  [
    "of an alias without its anchor",
    "workdir: .\nrun: *x\n",
    "launch -y -c dev task.yaml",
    ["task.yaml:2:6: run: nothing above is marked `&x`"],
  ],
  ["that an option brings", "\nrun: x\n", "launch -y -c dev --cpus banana task.yaml", [cpus]],
];

for (const [what, text, line, told] of refusals)
  test(`\`outrigger ${line}\` names the place in the user's own file of an error ${what}`, async (t) => {
    const control = await fakeControl(t, {
      ...{ "POST /status": two, "POST /launch": refusing, "POST /exec": refusing },
    });
    const outrigger = await commandLine(t, control.endpoint);
    await writeFile(join(outrigger.folder, "task.yaml"), text);

    const { code, stderr } = await outrigger(wordsOf(line));

    const lines = ["error: task.yaml cannot be used as it is:", ...told, ""];
    assert.deepEqual([code, stderr], [2, lines.join("\n")]);
  });

test("whatever letters the name of a file has, it is told as it is", async (t) => {
  const control = await fakeControl(t, { "POST /exec": refusing });
  const outrigger = await commandLine(t, control.endpoint);
  await writeFile(join(outrigger.folder, "a$1 $&.yaml"), "run: x\nnonsense: 1\n");

  const { stderr } = await outrigger(["exec", "dev", "a$1 $&.yaml"]);

  assert.ok(stderr.includes("\na$1 $&.yaml:2:1: nonsense: unknown field"), stderr);
});

const legacy = "# ours\nresources:\n  autostop: {idle_minutes: 5, hook: sync}\nrun: echo $A\n";

for (const [what, text, place] of [
  ["by its line", legacy, "task.yaml:3:3"],
  ["alone where options fill it in", `${legacy}envs: {A: null}\n`, "task.yaml"],
] as const)
  test(`a warning of control names the user's own file, ${what}`, async (t) => {
    const printed: Handler = (_seen, res) => {
      const reading = readTask(String(control.to("POST /launch")[0]?.body["task"]));
      const warnings = reading.ok ? reading.document.warnings : [];
      res.end(`first\n${formatIssues(warnings)}\nlast\n`);
    };
    const control = await fakeControl(t, {
      ...{ "POST /launch": { result: [null, null] }, "GET /api/stream": printed },
    });
    const outrigger = await commandLine(t, control.endpoint);
    await writeFile(join(outrigger.folder, "task.yaml"), text);

    const { stderr } = await outrigger(wordsOf("launch -y -d -c dev --env A=1 task.yaml"));

    const warning = `${place}: resources.autostop: \`hook\` is deprecated;`;
    assert.ok(stderr.includes(`first\n${warning}`), stderr);
    assert.match(stderr, /events: \[stop\]\nlast\n/);
    assert.doesNotMatch(stderr, /line \d/);
  });
