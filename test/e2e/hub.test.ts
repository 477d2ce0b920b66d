import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startHub } from "../helpers/hub-server.ts";
import { findLeaks } from "../helpers/leaks.ts";
import { startControl } from "../helpers/programs.ts";

test("a model of the hub reaches nodes, checked and at one commit", async (t) => {
  const hub = await startHub(t);
  const weights = "w".repeat(100_000);
  const commit = hub.commit({
    "config.json": "{}",
    "weights/1.bin": weights,
    "weights/2.bin": `${weights}2`,
  });
  const control = await startControl(t, { env: { OUTRIGGER_HF_ENDPOINT: hub.url } });
  const launch = (uri: string, ...words: string[]) => {
    const task = { file_mounts: { "~/model": uri }, run: "find ~/model -type f | xargs wc -c" };
    writeFileSync(join(control.home, "task.yaml"), JSON.stringify(task));
    return control.cli("launch", "-y", "-c", "dev", ...words, "task.yaml");
  };
  const secret = ["--secret", `HF_TOKEN=${hub.token}`];

  const refused = await launch("hf://ana/tiny");
  assert.match(
    refused.stderr,
    /hf:\/\/ana\/tiny refuses access, or is not there; pass the secret HF_TOKEN/,
  );

  const first = await launch("hf://ana/tiny", ...secret);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /^~\/model: 3 of 3 files changed/m);
  assert.match(first.stdout, /100001 \S+\/model\/weights\/2.bin/);
  // The token is for the hub, not for where it keeps large files.
  assert.ok(hub.large.asked.length >= 2);
  assert.ok(hub.large.asked.every(({ authorization }) => authorization === undefined));

  // Another commit: only what differs is fetched, and the earlier commit stays available.
  hub.commit({ "config.json": "{ }", "weights/1.bin": weights });
  const second = await launch("hf://models/ana/tiny@main", ...secret);
  assert.match(second.stderr, /^~\/model: 1 of 2 files changed, 3 bytes, 1 removed/m);
  const one = await launch(`hf://ana/tiny@${commit}/weights`, ...secret);
  assert.match(one.stderr, /^~\/model: 2 of 2 files changed/m);
  assert.deepEqual(findLeaks(hub.token, control.home), []);
});
