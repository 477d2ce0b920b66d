import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";

const health = { status: "healthy", api_version: "60", version: "1.0.0", commit: "abc" };

/** Answers 429 so many times first. */
const reluctant = (times: number, retryAfter: string): Handler => {
  let left = times;
  return (_seen, res) => {
    if (left === 0) return sendJson(res, 200, { ...health, user: null });
    left -= 1;
    res.setHeader("retry-after", retryAfter);
    sendJson(res, 429, { detail: "you call too often", type: "RateLimitError" });
  };
};

test("a call that came too often is made again after the time that the answer says", async (t) => {
  const control = await fakeControl(t, { "GET /api/health": reluctant(2, "0") });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["api", "info"]);

  assert.equal(code, 0, stderr);
  assert.equal(control.to("GET /api/health").length, 3);
  const told = "The control plane limits how often you call; waiting 0 s\n";
  assert.ok(stderr.includes(told + told), stderr);
});

test("it is not made for ever, and not at all where the wait would be long", async (t) => {
  const always = await fakeControl(t, { "GET /api/health": reluctant(100, "0") });
  const long = await fakeControl(t, { "GET /api/health": reluctant(1, "3600") });
  const [often, once] = [
    await commandLine(t, always.endpoint),
    await commandLine(t, long.endpoint),
  ];

  const refused = await often(["api", "info"]);
  const unwaited = await once(["api", "info"]);

  assert.deepEqual([refused.code, always.to("GET /api/health").length], [7, 6]);
  assert.match(refused.stderr, /you call too often/);
  assert.deepEqual([unwaited.code, long.to("GET /api/health").length], [7, 1]);
});
