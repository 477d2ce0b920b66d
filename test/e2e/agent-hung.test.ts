import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findProcess } from "../../common/process-tree.ts";
import { until } from "../helpers/agent.ts";
import { findAgent, listNodeHomes, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("an agent that hangs is replaced, its jobs live on", { timeout: 60_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const gate = join(control.home, "gate");
  const id = await cluster.launch(aTask(`echo in; until [ -e ${gate} ]; do sleep 0.1; done`));
  const [node = ""] = listNodeHomes(control.home);
  const agent = findAgent(node) ?? assert.fail("no agent serves the node");
  await cluster.untilJob(id, "RUNNING");

  process.kill(agent, "SIGSTOP");
  // A control plane that starts looks at once; one that runs when it has heard nothing for 15 s.
  await control.end("SIGTERM");
  await control.start();
  await until(() => findProcess(agent)?.alive !== true || undefined);

  const next = await cluster.exec(aTask("echo next"));
  assert.deepEqual(await cluster.follow(next), { code: 0, text: "next\n" });
  assert.equal(await cluster.jobStatus(id), "RUNNING");
  writeFileSync(gate, "");
  assert.deepEqual(await cluster.follow(id), { code: 0, text: "in\n" });
});
