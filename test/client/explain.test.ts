import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine } from "./command-line.ts";
import { fakeControl, sendJson } from "./fake-control.ts";

const foundAt = (now: number) => ({
  ...{ noun: "cluster", name: "dev", id: "c1", status: "UP", wanted: "GONE" },
  ...{ because: "down by ann", since: now - 120, doing: ["deletes node 0, for 3 s"] },
  attempt: { failures: 2, reason: "quota", failed_at: now - 60, next_at: now + 3_600 },
});

test("`outrigger explain` says what is under way, why it failed, and when it is tried again", async (t) => {
  const found = foundAt(Date.now() / 1_000);
  const control = await fakeControl(t, { "GET /explain": (_, res) => sendJson(res, 200, found) });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["explain", "dev"]);
  const json = await outrigger(["explain", "dev", "-o", "json"]);

  assert.match(stdout, /^cluster dev is UP \(since .*\); it should become GONE\n/);
  assert.match(stdout, /because of: down by ann\n {2}now: deletes node 0, for 3 s\n/);
  assert.match(stdout, /the last 2 attempts failed, 1m.* ago: quota\n {2}next attempt: in \d/);
  const since = new Date(found.since * 1_000).toISOString();
  assert.partialDeepStrictEqual(JSON.parse(json.stdout), { id: "c1", wanted: "GONE", since });
});
