import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startEngine, whyNoEngine } from "../helpers/engines.ts";
import { startControl } from "../helpers/programs.ts";
import { readTaskFiles, type TaskFile } from "../interop/tasks.ts";

const corpus = join(import.meta.dirname, "../interop");

/** What the jobs of task files print whose commands need no more than busybox and bash, without the ranks. */
const printed: Readonly<Record<string, readonly string[]>> = {
  "image-container.yaml": ["hello"],
  "image-container-by-region.yaml": ["hello"],
  "wild-container-shards.yaml": [0, 1, 2, 3].map((part) => `part ${part} has 18 bytes`),
  "wild-container-data.yaml": ["./", "./hello.txt", "./sub/", "./sub/run.sh"],
};
/** What no machine of a test has. */
const unrunnable: Readonly<Record<string, string>> = {
  "wild-container-server.yaml": "it needs a GPU, and the image of a model server",
};

const isOfImage = ({ text, isAccepted }: TaskFile): boolean =>
  isAccepted && /image_id:.*docker:/.test(text);

const imageOf = ({ text }: TaskFile): string => /docker:([\w./:-]+)/.exec(text)?.[1] ?? "";

test("the task files that ask for an image run in one of its name", {
  skip: whyNoEngine("docker"),
  timeout: 300_000,
}, async (t) => {
  const files = readTaskFiles(readFileSync(join(corpus, "lines/tasks.txt"), "utf8"));
  const ofImages = files.filter(isOfImage);
  const named = [...Object.keys(printed), ...Object.keys(unrunnable)].sort();
  assert.deepEqual(ofImages.map(({ name }) => name).sort(), named);
  const engine = await startEngine(t, "docker");
  const control = await startControl(t, { env: engine.env });
  cpSync(join(corpus, "files"), control.home, { recursive: true });
  mkdirSync(join(control.home, "tasks"));

  for (const file of ofImages)
    await t.test(file.name, { skip: unrunnable[file.name] ?? false }, async () => {
      const image = imageOf(file);
      await engine.run("tag", engine.image, image);
      writeFileSync(join(control.home, "tasks", file.name), file.text);
      const { cli } = control;
      const launch = ["launch", "-y", "-c", "boxed", `tasks/${file.name}`];
      const { code, stdout, stderr } = await cli(...launch);
      assert.equal(code, 0, stderr);
      assert.match(stderr, new RegExp(`^image: ${image} is there, and its container was`, "m"));
      const lines = stdout.trim().split("\n");
      const said = lines.map((line) => line.replace(/^\(.*?\) /, "")).sort();
      assert.deepEqual(said, printed[file.name]);
      assert.equal((await cli("down", "-y", "boxed")).code, 0);
    });
});
