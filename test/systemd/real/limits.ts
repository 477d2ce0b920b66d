import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../../helpers/agent.ts";
import { enable, limitFile, offerController, whyNoController } from "../controllers.ts";
import { type Installed, install } from "../installed.ts";
import { whyNoMachine } from "../machine.ts";

const options = { skip: whyNoMachine() || whyNoController(), timeout: 300_000 };

test(
  "jobs of an agent in the group of its unit can be limited, and it be replaced",
  options,
  async (t) => {
    const installed = await install(t);
    const { machine } = installed;
    offerController(t, machine, "system.slice");
    await replaceAgent(installed);
    const job = await installed.startJob();
    const scope = join(machine.groups, "system.slice/outrigger-agent-jobs.scope");
    const [group = ""] = jobsIn(scope);
    assert.match(group, /^outrigger-jobs-1-/);

    enable(scope);
    const limit = join(scope, group, limitFile);
    writeFileSync(limit, "4194304");
    await replaceAgent(installed);

    assert.equal(readFileSync(limit, "utf8").trim(), "4194304");
    await job.assertRuns();
    await job.assertEnds();
    await until(() => jobsIn(scope).length === 0 || undefined);
    await machine.get("systemctl", "stop", "outrigger-agent");
    await until(() => !existsSync(scope) || undefined);
  },
);

async function replaceAgent(installed: Installed): Promise<void> {
  const before = await installed.pid();
  await installed.machine.get("systemctl", "restart", "outrigger-agent");
  await installed.successorOf(before);
}

/** The groups of jobs in the scope, without that of the process that keeps it. */
const jobsIn = (scope: string): string[] =>
  readdirSync(scope, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "holder")
    .map(({ name }) => name);
