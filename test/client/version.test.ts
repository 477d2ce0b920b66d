import assert from "node:assert/strict";
import { test } from "node:test";
import { findCommit } from "../../common/commit.ts";
import { product, protocol } from "../../common/product.ts";
import { commandLine } from "./command-line.ts";

const nowhere = "http://127.0.0.1:1";

test("version says which build this is without a control plane", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  const json = await outrigger(["version", "-o", "json"]);
  const text = await outrigger(["version"]);

  assert.equal(json.code, 0, json.stderr);
  assert.deepEqual(JSON.parse(json.stdout), {
    version: product.version,
    commit: findCommit() ?? null,
    api_version: protocol.apiVersion,
    min_api_version: protocol.minApiVersion,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  });
  assert.deepEqual(
    text.stdout.split("\n").map((line) => line.split(/ {2,}/)[0]),
    ["Outrigger", "Commit", "API versions", "Node.js", ""],
  );
});
