import assert from "node:assert/strict";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { agentClient, aNode, aSubmission, until } from "../../helpers/agent.ts";
import { offerController, whyNoController } from "../controllers.ts";
import { copyHookLog } from "../installed.ts";
import { bootMachine, type Machine, whyNoMachine } from "../machine.ts";

const options = { skip: whyNoMachine(), timeout: 300_000 };
const uid = 1234;
/** Whoever has an account may have a systemd. */
const pam = "account required pam_permit.so\nsession optional pam_systemd.so\n";
/** Where the units of the user lie. */
const slice = `user.slice/user-${uid}.slice/user@${uid}.service/app.slice`;
const outrigger = join(import.meta.dirname, "../../../bin/outrigger");

test("a user's own agent lives as the machine's does, without root", options, async (t) => {
  const { machine, home, as } = await logIn(t);
  const agent = agentClient(t, join(home, ".outrigger/agent/agent.sock"));

  const { stderr } = await as(outrigger, "agent", "install");
  assert.match(stderr, /runs as ann.*\n.*--user.*\n.*loginctl enable-linger/s);
  if (whyNoController() === false) {
    offerController(t, machine, slice);
    await as("systemctl", "--user", "restart", "outrigger-agent");
  }
  await agent.call("configure", aNode());
  const run = "pgrep -x -u ann sleep && id -un > ~/saved";
  const hook = { run, events: ["preemption" as const], timeoutSeconds: 9 };
  await agent.call("putHooks", { version: "v1", hooks: [hook] });
  const job = await agent.call("submit", aSubmission("touch ~/job; sleep 1000"));
  await until(() => existsSync(join(home, "job")) || undefined);

  await as("systemctl", "--user", "restart", "outrigger-agent");
  assert.equal((await agent.call("getJob", { id: job.id })).status, "RUNNING");
  assert.equal(existsSync(join(home, "saved")), false);
  const scope = join(machine.groups, slice, "outrigger-agent-jobs.scope");
  assert.equal(existsSync(scope), whyNoController() === false);
  await machine.get("systemctl", "poweroff");
  await copyHookLog(agent);
  await machine.untilOff();

  assert.equal(readFileSync(join(home, "saved"), "utf8"), "ann\n");
});

/** A machine on which ann has logged in, so that she has a systemd of her own. */
async function logIn(t: TestContext) {
  const machine: Machine = await bootMachine(t);
  const home = join(machine.disk, "home/ann");
  appendFileSync(join(machine.disk, "etc/passwd"), `ann:x:${uid}:${uid}::/home/ann:/bin/bash\n`);
  appendFileSync(join(machine.disk, "etc/group"), `ann:x:${uid}:\n`);
  mkdirSync(join(machine.disk, "etc/pam.d"));
  writeFileSync(join(machine.disk, "etc/pam.d/systemd-user"), pam);
  mkdirSync(home);
  chownSync(home, uid, uid);
  await machine.get("systemctl", "start", `user@${uid}.service`);
  const words = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "env"];
  const env = ["HOME=/home/ann", "USER=ann", `XDG_RUNTIME_DIR=/run/user/${uid}`];
  const as = (...command: string[]) => machine.run(...words, ...env, ...command);
  return { machine, home, as };
}
