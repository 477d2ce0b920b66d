import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { copyNow } from "../../control/db/copies.ts";
import { startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("a truncated database is refused at start with the way back, and its copy has control go on", async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "c");
  await cluster.launch(aTask("sleep 300"));
  const folder = join(control.home, "control");
  const file = join(folder, "state.db");
  const name = "state-2026-01-02T03-04-05Z.db";
  mkdirSync(join(folder, "copies"));
  copyNow(file, join(folder, "copies", name));
  assert.match((await control.cli("api", "restore")).stderr, /pid \d+ already serves/);

  // An orderly end moves everything out of the journal.
  await control.end("SIGTERM");
  await control.start();
  await control.end("SIGKILL");
  truncateSync(`${file}-wal`);
  truncateSync(file, 20_000);
  const refused = await control.cli("api", "start", "--foreground");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /state\.db is damaged: .*restore the copy from 2026-01-02T03:04:05/);

  const restored = await control.cli("api", "restore");
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(restored.stdout, /Changes since 2026-01-02T03:04:05\.000Z are lost/);
  const [, aside = ""] = /previous database is at (.*)/.exec(restored.stdout) ?? [];
  assert.equal(readFileSync(aside).length, 20_000);

  await control.start();
  await cluster.untilJob(1, "RUNNING");
  await control.end("SIGTERM");
  assert.ok(!existsSync(join(folder, "running")));
  await control.start();
  await cluster.down();
});
