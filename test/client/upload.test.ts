import assert from "node:assert/strict";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandLine } from "./command-line.ts";
import { fakeControl, sendJson } from "./fake-control.ts";
import { usual } from "./usual-routes.ts";

test("hundreds of files are sent once, and again only after one has changed", async (t) => {
  const blobs = new Set<string | null>();
  const control = await fakeControl(t, {
    ...usual,
    "GET /upload_v2/blob": ({ query }, res) =>
      sendJson(res, 200, { exists: blobs.has(query.get("blob_id")) }),
    "POST /upload_v2": ({ query }, res) => {
      blobs.add(query.get("upload_id"));
      sendJson(res, 200, { status: "completed" });
    },
  });
  const outrigger = await commandLine(t, control.endpoint);
  const project = join(outrigger.folder, "project");
  mkdirSync(project);
  for (let at = 0; at < 300; at += 1) writeFileSync(join(project, `${at}.py`), `print(${at})\n`);
  const launch = async () => {
    const words = ["launch", "-y", "-d", "-c", "dev", "--workdir", "project", "true"];
    const { code, stderr } = await outrigger(words);
    assert.equal(code, 0, stderr);
    return control.to("POST /upload_v2").length;
  };

  assert.deepEqual([await launch(), await launch()], [1, 1]);
  utimesSync(join(project, "7.py"), new Date(0), new Date(0));
  assert.equal(await launch(), 1);
  writeFileSync(join(project, "7.py"), "print('seven')\n");
  assert.equal(await launch(), 2);
});
