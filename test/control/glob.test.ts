import assert from "node:assert/strict";
import { test } from "node:test";
import { caps } from "../../contract/caps.ts";
import { namesThatFit } from "../../control/glob.ts";
import { openLoopProbe } from "../helpers/loop-probe.ts";

test("a name is found by a text with * and ?, and by itself", async () => {
  const names = ["dev", "dev-2", "prod", "a[b"];
  const found = (...globs: string[]) => namesThatFit(globs, names);

  assert.deepEqual(await found("d*"), ["dev", "dev-2"]);
  assert.deepEqual(await found("d?v", "p*d*"), ["dev", "prod"]);
  assert.deepEqual(await found("prod", "a[b", "no"), ["prod", "a[b"]);
  assert.deepEqual(await found("*", "**"), names);
  assert.deepEqual(await found("", "?", "[d]ev", "dev?"), []);
});

test("as many patterns as there can be, the worst there are, hold nobody up", async () => {
  const names = Array.from({ length: 6 }, (_, at) => `${"a".repeat(119)}${at}`);
  const globs = Array.from({ length: caps.entries }, () => `*${"a".repeat(60)}b`);
  const probe = openLoopProbe();

  assert.deepEqual(await namesThatFit(globs, names), []);

  const turnMs = probe.take();
  probe.stop();
  assert.ok(turnMs < 100, `a turn of ${turnMs} ms`);
});
