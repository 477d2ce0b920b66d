import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { claimPorts } from "../helpers/ports.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, sendJson } from "./fake-control.ts";

/** A command line to whose home nothing but a free port belongs. */
async function newcomer(t: TestContext) {
  const { document: port } = await claimPorts(t);
  const env = { OUTRIGGER_PORT: String(port), PATH: process.env["PATH"] };
  const stop = async () => void (await outrigger(["api", "stop"], { env }));
  // Before the folder goes, by which it is found.
  t.after(stop);
  const outrigger = await commandLine(t, "");
  return { outrigger, env };
}

test("a command that needs a control plane starts that of the home and says so", async (t) => {
  const { outrigger, env } = await newcomer(t);
  const check = (more = {}) => outrigger(["check"], { env: { ...env, ...more } });

  const reading = await outrigger(["status"], { env });
  const unwanted = [];
  for (const more of [
    { OUTRIGGER_AUTOSTART: "off" },
    { CI: "true" },
    { OUTRIGGER_JOB_FOLDER: "/x" },
    { OUTRIGGER_ENDPOINT: `http://127.0.0.1:${env.OUTRIGGER_PORT}` },
  ])
    unwanted.push(await check(more));
  const wasStarted = existsSync(join(outrigger.folder, "control.log"));
  const both = await Promise.all([check(), check()]);
  const again = await check();

  for (const { code, stderr } of [reading, ...unwanted]) {
    assert.equal(code, 7, stderr);
    assert.match(stderr, /no control plane at .*; start one with `outrigger api start`/);
  }
  assert.ok(!wasStarted);
  for (const { code, stdout, stderr } of [...both, again]) {
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stdout, /http:/);
  }
  const notes = both.map(({ stderr }) => stderr).join("");
  const told = /No control plane was running; this is a new one at http:\/\/127\.0\.0\.1:\d+\./g;
  assert.equal(notes.match(told)?.length, 1, notes);
  assert.match(notes, /^stop {2}outrigger api stop$/m);
  assert.equal(again.stderr, "");
});

test("whatever listens at the usual port is asked instead", async (t) => {
  const { outrigger } = await newcomer(t);
  const control = await fakeControl(t, {
    "GET /api/health": (_seen, res) => sendJson(res, 200, { status: "healthy" }),
  });
  const env = { OUTRIGGER_PORT: new URL(control.endpoint).port };

  const { stderr } = await outrigger(["check"], { env });

  assert.doesNotMatch(stderr, /No control plane was running/);
  assert.ok(control.seen.length > 0);
});

test("the setting is on or off", async (t) => {
  const { outrigger } = await newcomer(t);

  const { code, stderr } = await outrigger(["check"], { env: { OUTRIGGER_AUTOSTART: "yes" } });

  assert.equal(code, 2);
  assert.match(stderr, /OUTRIGGER_AUTOSTART: must be on or off/);
});
