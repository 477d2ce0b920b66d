import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { unitFileOf } from "../../../common/programs.ts";
import { until } from "../../helpers/agent.ts";
import { bootMachine, type Machine, whyNoMachine } from "../machine.ts";

const options = { skip: whyNoMachine(), timeout: 300_000 };
const unit = "outrigger-control";
const root = join(import.meta.dirname, "../../..");
const outrigger = join(root, "bin/outrigger");

test("control runs within its walls, and local jobs outlive it", options, async (t) => {
  const machine = await bootMachine(t);
  putCheckout(machine);
  await machine.get("systemctl", "enable", "--now", unitFileOf("control"));

  const wait = "echo begun; until [ -e ~/go ]; do sleep 0.05; done; echo over";
  await machine.get(outrigger, "launch", "-y", "-d", "-c", "demo", wait);
  await machine.get("systemctl", "restart", unit);
  const first = await pidOf(machine);
  await machine.get("kill", "-KILL", first);
  await until(async () => (await isUp(machine, first)) || undefined);
  await machine.get("sh", "-c", "touch $(echo /var/lib/outrigger/nodes/*)/go");

  const log = await machine.get(outrigger, "logs", "demo");
  assert.match(log, /begun\n.*over/);
  const walls = await machine.run(outrigger, "exec", "demo", "touch /usr/x ~/x; id -u");
  assert.match(walls.stdout, /touch: cannot touch '\/usr\/x'/);
});

/** This checkout is at /opt/outrigger for control, wherever it lies: its walls hide homes and /tmp. */
function putCheckout({ disk }: Machine): void {
  const folder = join(disk, `etc/systemd/system/${unit}.service.d`);
  for (const made of [folder, join(disk, "opt/outrigger")]) mkdirSync(made, { recursive: true });
  writeFileSync(
    join(folder, "checkout.conf"),
    `[Service]\nBindReadOnlyPaths=${root}:/opt/outrigger\n`,
  );
}

const pidOf = (machine: Machine): Promise<string> =>
  machine.get("systemctl", "show", "--value", "-p", "MainPID", unit);

/** Whether another process than this one is ready. */
async function isUp(machine: Machine, before: string): Promise<boolean> {
  // First who it is: whoever was killed counts as active until systemd has heard of that.
  if (["0", before].includes(await pidOf(machine))) return false;
  const { code } = await machine.run("systemctl", "is-active", "--quiet", unit);
  return code === 0;
}
