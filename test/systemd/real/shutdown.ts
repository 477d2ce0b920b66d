import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { aSubmission, until } from "../../helpers/agent.ts";
import { copyHookLog, type Installed, install } from "../installed.ts";
import { whyNoMachine } from "../machine.ts";

const options = { skip: whyNoMachine(), timeout: 300_000 };

const saving = `date +%s%3N > ~/hook-began
echo "saving before $HOOK_EVENT, $(systemctl is-system-running)"
kill -0 $(cat ~/pid) && echo the job still runs
sleep 0.3; echo saved`;
const training = `trap 'ls ~/hook-began && echo told > ~/told; exit' TERM
echo $$ > ~/pid; while :; do sleep 0.02; done`;

test(
  "a machine that is turned off runs its hooks first, then tells its jobs",
  options,
  async (t) => {
    const installed = await install(t, "StandardError=append:/root/agent.log");
    const { machine, agent } = installed;
    const home = join(machine.disk, "root");
    await putHook(installed, saving);
    await agent.call("submit", aSubmission(training));
    await until(() => existsSync(join(home, "pid")) || undefined);

    await machine.get("systemctl", "poweroff");
    const log = await copyHookLog(agent);
    await machine.untilOff();

    assert.equal(log, "saving before preemption, stopping\nthe job still runs\nsaved\n");
    assert.ok(existsSync(join(home, "told")));
    const tookMs = Number(readFileSync(join(home, "hook-began"), "utf8")) - signalledAt(home);
    t.diagnostic(`from SIGTERM to the hook ${tookMs} ms`);

    await machine.boot();
    const [last] = await until(() => agent.call("listLifecycles", {}).catch(() => undefined));
    assert.equal(last?.status, "CANCELLED");
    assert.deepEqual(
      last?.runs.map(({ status }) => status),
      ["SUCCEEDED"],
    );
  },
);

test("a machine whose node has nothing to save is off at once", options, async (t) => {
  const { machine } = await install(t);

  const since = performance.now();
  await machine.get("systemctl", "poweroff");
  await machine.untilOff();

  t.diagnostic(`off after ${Math.round(performance.now() - since)} ms`);
  assert.ok(performance.now() - since < 60_000, "it waited for the grace of the agent");
});

const putHook = ({ agent }: Installed, run: string) =>
  agent.call("putHooks", {
    version: "v1",
    hooks: [{ run, events: ["preemption"], timeoutSeconds: 60 }],
  });

/** When the agent heard of its signal, by its own log. */
function signalledAt(home: string): number {
  const lines = readFileSync(join(home, "agent.log"), "utf8").trim().split("\n");
  const rows: { msg: string; time: string }[] = lines.map((line) => JSON.parse(line));
  return Date.parse(rows.find(({ msg }) => msg === "signal")?.time ?? "");
}
