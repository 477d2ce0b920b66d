import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { orphanOperations } from "../../contract/operations/orphans.ts";
import { until } from "../helpers/agent.ts";
import { startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("clusters outlive the database: they are listed, adopted with their jobs, or ended", async (t) => {
  const control = await startControl(t);
  const [kept, left] = [clusterOf(control, "kept"), clusterOf(control, "left")];
  const off = clusterOf(control, "off");
  await off.launch(aTask("echo > file"));
  await off.untilJob(1, "SUCCEEDED");
  await off.stop();
  await kept.launch(aTask("sleep 300"));
  await left.launch(aTask("sleep 300"));
  await control.client.call(orphanOperations.list, {}).then((found) => assert.deepEqual(found, []));

  await control.end("SIGKILL");
  const folder = join(control.home, "control");
  for (const name of readdirSync(folder).filter((one) => one.startsWith("state.db")))
    renameSync(join(folder, name), join(folder, `lost-${name}`));
  await control.start();

  assert.equal(await kept.status(), undefined);
  const warning =
    /"orphans":\["(kept|left|off)".*clusters that are not in the database are running/;
  await until(
    () => warning.test(readFileSync(join(control.home, "control.log"), "utf8")) || undefined,
  );
  const listed = await control.cli("api", "orphans");
  assert.match(listed.stdout, /^kept\s.*\blocal\s+1\s+1$/m, listed.stderr);
  assert.match(listed.stdout, /^left\s/m);
  const adopted = await control.cli("api", "orphans", "--adopt", "kept");
  assert.equal(adopted.code, 0, adopted.stderr);
  await kept.untilStatus("UP");
  assert.equal(await kept.jobStatus(1), "RUNNING");
  assert.equal(await kept.launch(aTask("true")), 2);
  await kept.untilJob(2, "SUCCEEDED");

  assert.equal((await control.cli("api", "orphans", "--adopt", "off")).code, 0);
  assert.equal(await off.status(), "STOPPED");
  await off.start();
  await off.exec(aTask("cat file"));
  await off.untilJob(2, "SUCCEEDED");
  await off.down();

  const twice = await control.cli("api", "orphans", "--adopt", "kept");
  assert.match(twice.stderr, /there is no orphan kept/);
  const ended = await control.cli("api", "orphans", "--end", "left");
  assert.equal(ended.code, 0, ended.stderr);
  assert.match((await control.cli("api", "orphans")).stderr, /No orphans/);
  await kept.down();
});
