import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl } from "./fake-control.ts";

/** A folder with a folder `here` and a task, and a control plane that must not hear of it. */
async function aTask(t: TestContext, text: string) {
  const control = await fakeControl(t, {});
  const outrigger = await commandLine(t, control.endpoint);
  await mkdir(join(outrigger.folder, "here"));
  await writeFile(join(outrigger.folder, "task.yaml"), text);
  return { control, outrigger };
}

const task = `workdir: task.yaml
file_mounts:
  /a: none/a
  /b: here
  /c: none/$C
run: x
cpsu: 1
`;

test("every file that a task lacks is named, with whatever else is wrong, before anything is sent", async (t) => {
  const { control, outrigger } = await aTask(t, task);

  const { code, stderr } = await outrigger(wordsOf("launch -y -c dev --env A=1 task.yaml"));

  assert.equal(code, 2);
  assert.deepEqual(stderr.split("\n").slice(0, 4), [
    "error: task.yaml cannot be used as it is:",
    "task.yaml:1:1: workdir: task.yaml is not a folder",
    `task.yaml:3:3: file_mounts["/a"]: there is no none/a in ${outrigger.folder}`,
    "task.yaml:7:1: cpsu: unknown field `cpsu`; did you mean `cpus`?",
  ]);
  assert.deepEqual(control.seen, []);
});

test("a job on a cluster that is up brings its working folder alone, and --workdir is another one", async (t) => {
  const { outrigger } = await aTask(t, task);

  const own = await outrigger(wordsOf("exec dev task.yaml"));
  const other = await outrigger(wordsOf("exec dev --workdir here task.yaml"));

  assert.match(own.stderr, /task\.yaml:1:1: workdir: .* is not a folder\n.*cpsu/);
  assert.doesNotMatch(own.stderr, /file_mounts/);
  assert.doesNotMatch(other.stderr, /folder/);
});

test("a --workdir that is no folder is refused at once", async (t) => {
  const { control, outrigger } = await aTask(t, task);

  const file = await outrigger(wordsOf("launch -y -c dev --workdir task.yaml hi"));
  const none = await outrigger(wordsOf("launch -y -c dev --workdir none hi"));

  assert.deepEqual(
    [file, none].map(({ code, stderr }) => [code, stderr]),
    [
      [2, "error: --workdir: task.yaml is not a folder\n"],
      [3, `error: --workdir: there is no none in ${outrigger.folder}\n`],
    ],
  );
  assert.deepEqual(control.seen, []);
});
