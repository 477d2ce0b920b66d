import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";

test("what one cluster writes to a volume another one reads, until the volume is deleted", async (t) => {
  const control = await startControl(t);
  const write = (name: string, fields: object) =>
    writeFileSync(join(control.home, name), JSON.stringify(fields));
  write("task.yaml", {
    volumes: { "~/data": "data" },
    run: "echo run >> ~/data/runs; cat ~/data/runs",
  });

  const applied = await control.cli("volumes", "apply", "recipes:shared-folder", "-n", "data");
  assert.equal(applied.code, 0, applied.stderr);
  const first = await control.cli("launch", "-y", "-c", "one", "task.yaml");
  assert.match(first.stderr, /^~\/data: volume data attached$/m);
  await control.cli("stop", "-y", "one");
  const again = await control.cli("launch", "-y", "-c", "one", "task.yaml");
  assert.equal(again.stdout.match(/^run$/gm)?.length, 2, again.stderr);
  const refused = await control.cli("volumes", "delete", "-y", "data");
  assert.match(refused.stderr, /volume data is in use by one; take them down first/);
  await control.cli("down", "-y", "one");

  const second = await control.cli("launch", "-y", "-c", "two", "task.yaml");
  assert.equal(second.stdout.match(/^run$/gm)?.length, 3, second.stderr);
  assert.match((await control.cli("volumes", "ls")).stdout, /^data +folder +local +IN_USE +two/m);
  await control.cli("down", "-y", "two");
  assert.equal((await control.cli("volumes", "delete", "-y", "data")).code, 0);
  const unknown = await control.cli("launch", "-y", "-c", "three", "task.yaml");
  assert.equal(unknown.code, 3);
  assert.match(unknown.stderr, /there is no volume data; outrigger volumes ls lists them/);
});
