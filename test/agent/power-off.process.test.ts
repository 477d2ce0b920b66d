import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { watchIdle } from "../../agent/idle.ts";
import { beginLifecycle, cancelLifecycle, getRow } from "../../agent/lifecycles/lifecycles.ts";
import { saveLifecycle } from "../../agent/lifecycles/store.ts";
import { untilTurnedOff } from "../../agent/power-off.ts";
import { findBearers } from "../../common/process-tree.ts";
import type { Autostop } from "../../contract/agent-shapes.ts";
import type { LifecycleOrder } from "../../contract/lifecycle-shapes.ts";
import { startAgent, until } from "../helpers/agent.ts";
import { aWorld } from "./world.ts";

const soon: Autostop = { idleMs: 100, down: false, waitFor: "jobs" };

/** An agent that turns itself off soon after it was idle, with a hook that leaves a process behind. */
async function anAgent(t: TestContext, command: string | null, afterSeconds = "0.2") {
  const env = {
    OUTRIGGER_SELF_STOP_AFTER_SECONDS: afterSeconds,
    ...(command === null ? {} : { OUTRIGGER_POWER_OFF_COMMAND: command }),
  };
  const agent = await startAgent(t, { env });
  const run = "setsid sleep 1000 & sleep 0.1; echo saved > ~/saved";
  const hooks = [{ run, events: ["stop" as const], timeoutSeconds: 60 }];
  await agent.call("putHooks", { version: "1", hooks });
  const isThere = (name: string) => existsSync(join(agent.home, name));
  const untilReady = () =>
    until(async () => {
      const [latest] = await agent.call("listLifecycles", {});
      return latest?.status === "READY" ? latest : undefined;
    });
  return { ...agent, agent, isThere, untilReady };
}

test("a node that was idle and that nobody comes for turns itself off", async (t) => {
  const { agent, home, isThere } = await anAgent(t, "[ -e ~/saved ] && touch ~/off");
  const { pid } = agent;
  await agent.call("setAutostop", soon);
  await until(() => isThere("off") || undefined);
  await until(() => findBearers(`HOME=${home}`).length === 0 || undefined);

  await agent.start();
  assert.notEqual(agent.pid, pid);
  const ended = (await agent.call("listLifecycles", {})).at(-1);
  assert.deepEqual([ended?.status, ended?.cause], ["DONE", "idle"]);
});

test("a command that fails is tried again", async (t) => {
  const command = "echo x >> ~/tries; [ -e ~/go ]";
  const { agent, home, isThere } = await anAgent(t, command);
  await agent.call("setAutostop", soon);
  await until(() => isThere("tries") || undefined);
  assert.equal((await agent.call("listLifecycles", {}))[0]?.status, "READY");

  writeFileSync(join(home, "go"), "");
  await until(() => findBearers(`HOME=${home}`).length === 0 || undefined);
  assert.match(readFileSync(join(home, "tries"), "utf8"), /^x\n(x\n)+$/);
});

test("only an idle stop that waits all the time turns the node off", async (t) => {
  const command = { OUTRIGGER_POWER_OFF_COMMAND: "echo off >> ~/off" };
  const { world, home, ...time } = aWorld(t, command);
  const begin = (id: string, cause: "user" | "idle") => {
    const order = { id, cause, event: "stop", because: "", deadlineAt: null, skipHooks: false };
    beginLifecycle(world, order as LifecycleOrder);
    saveLifecycle(world, { ...getRow(world, id), status: "READY" });
  };
  const pass = async (ms: number) => {
    time.pass(ms);
    await setImmediate();
  };
  const off = untilTurnedOff(world);

  begin("of a user", "user");
  await pass(0);
  await pass(3_600_000);
  cancelLifecycle(world, "of a user");
  begin("taken back", "idle");
  await pass(0);
  await pass(599_999);
  cancelLifecycle(world, "taken back");
  await pass(1);
  begin("last", "idle");
  await pass(0);
  await pass(599_999);
  assert.equal(existsSync(join(home, "off")), false);

  await pass(1);
  assert.equal((await off).exitCode, 0);
  assert.equal(readFileSync(join(home, "off"), "utf8"), "off\n");
  assert.equal(getRow(world, "last").status, "READY");
  watchIdle(world).catch(() => {});
  assert.equal(getRow(world, "last").status, "DONE", "once the node is on again");
});

test("a job that waits does not begin on a node that turns itself off", async (t) => {
  const { agent, home } = await anAgent(t, "touch ~/off");
  const all = { demand: { cpus: 4, accelerators: 0 } };
  await agent.submit("touch ~/up; sleep 1000", all);
  await until(() => existsSync(join(home, "up")) || undefined);
  const waits = await agent.submit("touch ~/begun", all);
  await agent.call("setAutostop", { ...soon, waitFor: "none" });
  await until(() => findBearers(`HOME=${home}`).length === 0 || undefined);

  // A process that ends loses its environment before its locks.
  const file = join(home, ".outrigger/agent/journal.db");
  const journal = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  const rows = journal.prepare("SELECT status FROM jobs ORDER BY id").all();
  journal.close();
  assert.deepEqual(
    rows.map(({ status }) => status),
    ["CANCELLED", "PENDING"],
  );
  assert.equal(existsSync(join(home, "begun")), false);
  await agent.start();
  assert.equal((await agent.untilJob(waits.id)).status, "SUCCEEDED");
});

test("a node that cannot turn itself off waits on", async (t) => {
  const { agent, untilReady } = await anAgent(t, null, "0");
  await agent.call("setAutostop", soon);
  const ready = await untilReady();

  assert.equal((await agent.call("getLifecycle", ready)).status, "READY");
  await agent.call("cancelLifecycle", ready);
});
