import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { listProcesses } from "../../common/process-tree.ts";
import { controlPidFile } from "../../contract/control-pid.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl } from "./fake-control.ts";
import { two, usual } from "./usual-routes.ts";

test("who stops the control plane is told which clusters go on", async (t) => {
  const control = await fakeControl(t, { ...usual, "POST /status": two });
  const outrigger = await commandLine(t, control.endpoint);
  const stand = spawn("sleep", ["600"]);
  t.after(() => stand.kill("SIGKILL"));
  await once(stand, "spawn");
  const { hostname: host, port } = new URL(control.endpoint);
  const found = listProcesses().find(({ pid }) => pid === stand.pid);
  const written = { pid: stand.pid, startTicks: found?.startTicks, host, port: Number(port) };
  await writeFile(join(outrigger.folder, controlPidFile), JSON.stringify(written));

  const { code, stderr } = await outrigger(["api", "stop"]);

  assert.deepEqual(
    [code, stderr],
    [0, `Stopping the control plane, pid ${stand.pid}\n1 cluster keeps running: dev\n`],
  );
  assert.equal(control.to("POST /status")[0]?.body["all_users"], true);
});
