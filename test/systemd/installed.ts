import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type AgentClient,
  agentClient,
  aNode,
  aSubmission,
  text,
  until,
} from "../helpers/agent.ts";
import { bootMachine, type Machine } from "./machine.ts";

/** A machine with an agent that `outrigger agent install` put there. */
export interface Installed {
  readonly machine: Machine;
  readonly agent: AgentClient;
  /** The pid of the agent in the machine, once one answers. */
  pid(): Promise<number>;
  /** Waits until another agent than this one answers; its pid. */
  successorOf(pid: number): Promise<number>;
  /** Starts a job that runs until it is let go, and then ends with 7. */
  startJob(): Promise<TestJob>;
}

export interface TestJob {
  readonly id: number;
  /** Of its script, in the machine. */
  readonly pid: number;
  /** Fails unless its script still runs and the agent says so. */
  assertRuns(): Promise<void>;
  /** Lets it go, and fails unless the agent tells its end right. */
  assertEnds(): Promise<void>;
}

const unit = "outrigger-agent";
const root = join(import.meta.dirname, "../..");
const outrigger = join(root, "bin/outrigger");

/** Installs the agent on a new machine, with lines of the unit's `[Service]` that differ. */
export async function install(t: TestContext, ...differs: string[]): Promise<Installed> {
  const machine = await bootMachine(t);
  override(machine, differs);
  await machine.get(outrigger, "agent", "install");
  const home = join(machine.disk, "root");
  const agent = agentClient(t, join(home, ".outrigger/agent/agent.sock"));
  await agent.call("configure", aNode());
  const installed: Installed = {
    machine,
    agent,
    pid: async () => (await agent.call("health", {})).pid,
    successorOf: (pid) =>
      until(async () => {
        const found = await installed.pid().catch(() => pid);
        return found === pid ? undefined : found;
      }),
    startJob: () => startJob(installed, home),
  };
  return installed;
}

/** Does as control does: fetches the log of a preemption that is to come, and says so. */
export async function copyHookLog(agent: AgentClient): Promise<string> {
  const { id } = await until(async () => (await agent.call("listLifecycles", {}))[0]);
  const { body } = await agent.open("readHookLog", { id, event: "preemption", follow: "true" });
  const log = await text(body);
  await until(async () => {
    const { status } = await agent.call("getLifecycle", { id });
    return status === "READY" ? status : undefined;
  });
  await agent.call("confirmLogs", { id });
  return log;
}

/** Runs `outrigger agent` in the machine. */
export const outriggerAgent = ({ machine }: Installed, ...words: string[]): Promise<string> =>
  machine.get(outrigger, "agent", ...words);

/** A property of the agent's unit, as systemd has it. */
export const propertyOf = ({ machine }: Installed, name: string): Promise<string> =>
  machine.get("systemctl", "show", "--value", "-p", name, unit);

function override({ disk }: Machine, lines: readonly string[]): void {
  if (lines.length === 0) return;
  const folder = join(disk, `etc/systemd/system/${unit}.service.d`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "test.conf"), ["[Service]", ...lines, ""].join("\n"));
}

async function startJob({ machine, agent }: Installed, home: string): Promise<TestJob> {
  const pidFile = join(home, "pid");
  const run = "echo $$ > ~/pid; until [ -e ~/go ]; do sleep 0.02; done; exit 7";
  const { id } = await agent.call("submit", aSubmission(run));
  const pid = await until(() =>
    existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) || undefined : undefined,
  );
  return {
    id,
    pid,
    async assertRuns() {
      assert.equal((await machine.run("kill", "-0", String(pid))).code, 0);
      assert.equal((await agent.call("getJob", { id })).status, "RUNNING");
    },
    async assertEnds() {
      writeFileSync(join(home, "go"), "");
      const job = await until(async () => {
        const found = await agent.call("getJob", { id });
        return found.endedAt === null ? undefined : found;
      });
      assert.deepEqual([job.status, job.exitCode], ["FAILED", 7]);
    },
  };
}
