import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { openUnixDoor } from "../../../control/doors/unix.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld } from "../../helpers/world.ts";
import { install } from "../installed.ts";
import { whyNoMachine } from "../machine.ts";

const options = { skip: whyNoMachine(), timeout: 300_000 };
const demo = { cluster_name: "demo" };

const training = `trap 'cat ~/saved > ~/told; exit' TERM
touch ~/begun; while :; do sleep 0.02; done`;
const saving = `echo "saving before $HOOK_EVENT, $(systemctl is-system-running)"
sleep 0.5; date > ~/saved; echo saved`;

test("what hooks wrote while the machine went off is read from control", options, async (t) => {
  const { machine } = await install(t);
  const home = join(machine.disk, "root");
  const world = await testWorld(t);
  const door = () => openUnixDoor(join(home, ".outrigger/agent/agent.sock"));
  Object.assign(world.provider, { agentsStart: false, door });
  const hooks = [
    { run: saving, events: ["preemption"] },
    { run: "exit 3", events: ["preemption"], timeout: 60 },
  ];
  const task = JSON.stringify({ run: training, config: { hooks } });
  const { job_id: job } = await world.run(rows.launch, { ...demo, task });
  await until(() => existsSync(join(home, "begun")) || undefined);

  await machine.get("systemctl", "poweroff");
  await machine.untilOff();

  assert.equal(job, 1);
  assert.equal(readFileSync(join(home, "told"), "utf8"), readFileSync(join(home, "saved"), "utf8"));
  const shown = await world.call(rows.hookLogs, { ...demo, follow: false });
  assert.equal(await world.get(rows.hookLogs, shown), 0);
  const log = await world.printed(shown);
  assert.match(
    log,
    /^saving before preemption, stopping\nsaved\n\[outrigger\] hook 2 of 2 .* 3\n$/,
  );
  assert.equal(log, readFileSync(join(home, ".outrigger/hooks/preemption.log"), "utf8"));
  const happened = { ...demo, event_type: "DEBUG" };
  const events = (await world.run(rows.clusterEvents, happened)).join("\n");
  assert.match(events, /node 0 got a preemption notice \(.*\) in \d+ s/);
  assert.match(events, /hook 1 of 2 \(preemption\) succeeded/);
  assert.match(events, /hook 2 of 2 \(preemption\) exited with 3/);
});
