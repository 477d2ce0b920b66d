import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../../helpers/agent.ts";
import { install, outriggerAgent, propertyOf } from "../installed.ts";
import { whyNoMachine } from "../machine.ts";

const options = { skip: whyNoMachine(), timeout: 300_000 };
const unit = "outrigger-agent";

test("a restart and an upgrade of the agent touch no job", options, async (t) => {
  const installed = await install(t);
  const { machine } = installed;
  const job = await installed.startJob();
  const first = await installed.pid();

  await machine.get("systemctl", "restart", unit);
  const second = await installed.pid();
  await job.assertRuns();
  await outriggerAgent(installed, "install");
  const third = await installed.pid();
  await job.assertRuns();

  assert.equal(new Set([first, second, third]).size, 3);
  await job.assertEnds();
});

test("an agent that is taken out of systemd leaves its jobs", options, async (t) => {
  const installed = await install(t);
  const { machine } = installed;
  const job = await installed.startJob();

  const again = await machine.run("systemctl", "is-enabled", unit);
  await outriggerAgent(installed, "uninstall");
  await outriggerAgent(installed, "uninstall");

  assert.equal(again.stdout, "enabled\n");
  assert.equal((await machine.run("kill", "-0", String(job.pid))).code, 0);
  assert.equal((await machine.run("systemctl", "cat", unit)).code, 1);
  assert.equal(existsSync(join(machine.disk, `etc/systemd/system/${unit}.service`)), false);
  await outriggerAgent(installed, "install");
  await job.assertEnds();
});

test("an agent that crashes is started again at once, however often", options, async (t) => {
  const installed = await install(t);
  const { machine } = installed;
  const job = await installed.startJob();

  const rounds: { gapMs: number; tookMs: number }[] = [];
  for (let pid = await installed.pid(); rounds.length < 6; ) {
    const crashedMs = bootMs();
    await machine.get("kill", "-KILL", String(pid));
    pid = await installed.successorOf(pid);
    const tookMs = bootMs() - crashedMs;
    const startedMs = Number(await propertyOf(installed, "ExecMainStartTimestampMonotonic")) / 1e3;
    rounds.push({ gapMs: startedMs - crashedMs, tookMs });
  }

  t.diagnostic(`answers after ${rounds.map(({ tookMs }) => Math.round(tookMs)).join(", ")} ms`);
  assert.ok(Math.min(...rounds.map(({ gapMs }) => gapMs)) < 3_000);
  await job.assertEnds();
});

/** The clock that systemd tells its instants by. */
const bootMs = (): number => Number(process.hrtime.bigint()) / 1e6;

test("an agent that hangs is replaced, one that works is not", options, async (t) => {
  const installed = await install(t, "WatchdogSec=10s");
  const { machine } = installed;
  const job = await installed.startJob();
  const pid = await installed.pid();

  const beats = new Set<string>();
  await until(async () => {
    beats.add(await propertyOf(installed, "WatchdogTimestampMonotonic"));
    return beats.size > 2 || undefined;
  });
  assert.equal(await installed.pid(), pid);
  await machine.get("kill", "-STOP", String(pid));
  await installed.successorOf(pid);

  assert.equal(await propertyOf(installed, "NRestarts"), "1");
  await job.assertEnds();
});

test("an agent that will not leave is killed, and nothing else", options, async (t) => {
  const installed = await install(t, "TimeoutStopSec=500ms");
  const { machine } = installed;
  const job = await installed.startJob();
  const pid = await installed.pid();

  await machine.get("kill", "-STOP", String(pid));
  await machine.get("systemctl", "restart", unit);

  assert.notEqual(await installed.pid(), pid);
  await job.assertRuns();
  await job.assertEnds();
});

const mayBePrecious = { ...options, skip: options.skip || whyNotPrecious() };

test("when memory runs out a job is picked, not the agent", mayBePrecious, async (t) => {
  const installed = await install(t);
  const { machine } = installed;
  const job = await installed.startJob();
  const score = (pid: number) => machine.get("cat", `/proc/${pid}/oom_score_adj`);

  assert.equal(await score(await installed.pid()), "-900");
  assert.equal(await score(job.pid), "0");
});

/** Only who has CAP_SYS_RESOURCE may make itself precious; a container's root often has not. */
function whyNotPrecious(): string | false {
  const [, rights = "0"] =
    /^CapEff:\t(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return (BigInt(`0x${rights}`) >> 24n) & 1n ? false : "needs CAP_SYS_RESOURCE";
}
