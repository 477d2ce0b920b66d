import assert from "node:assert/strict";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("where this machine takes no new clusters, launches on it are refused and those that exist go on", {
  timeout: 120_000,
}, async (t) => {
  const control = await startControl(t);
  const [kept, resting] = [clusterOf(control, "kept"), clusterOf(control, "resting")];
  for (const cluster of [kept, resting]) await cluster.launch(aTask("true"));
  await resting.stop();

  await control.end("SIGTERM");
  await control.start({ OUTRIGGER_LOCAL: "off" });

  const refused = await control.cli("launch", "-y", "-c", "new", "--infra", "local", "true");
  assert.notEqual(refused.code, 0);
  assert.match(
    refused.stderr,
    /no nodes are created on the machine of control: OUTRIGGER_LOCAL is off/,
  );

  const started = await control.cli("start", "-y", "resting");
  assert.equal(started.code, 0, started.stderr);
  for (const cluster of [kept, resting])
    assert.equal((await cluster.follow(await cluster.exec(aTask("true")))).code, 0);
  const again = await control.cli("launch", "-y", "-c", "kept", "true");
  assert.equal(again.code, 0, again.stderr);
});
