import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startAgent } from "../helpers/agent.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/hooks.md"), "utf8");
const hasCurl = spawnSync("curl", ["--version"]).error === undefined;

test("a node is told of its end as the page on hooks says", { skip: !hasCurl }, async (t) => {
  const { home, call } = await startAgent(t);
  const [, command = ""] = /^```sh\n(curl [^`]*)```$/m.exec(page) ?? [];

  const asWritten = command.replace("<node home>", home);
  const { status, stdout } = spawnSync("bash", ["-c", asWritten], { encoding: "utf8" });

  assert.deepEqual([status, JSON.parse(stdout).because], [0, "a try"]);
  const [lifecycle] = await call("listLifecycles", {});
  assert.deepEqual([lifecycle?.events, lifecycle?.cause], [["preemption"], "provider"]);
});

test("what is misspelt in a notice is refused by its name", async (t) => {
  const { request, call } = await startAgent(t);

  const { status, json } = await request("POST", "/preempt", '{"deadline": 5}');

  assert.deepEqual([status, json.type], [400, "ValueError"]);
  assert.match(json.message, /"deadline"/);
  assert.deepEqual(await call("listLifecycles", {}), []);
});
