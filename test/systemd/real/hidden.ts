import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { programArgs } from "../../../common/programs.ts";
import { aSubmission, until } from "../../helpers/agent.ts";
import { type Installed, install } from "../installed.ts";
import { whyNoMachine } from "../machine.ts";

const options = { skip: whyNoMachine(), timeout: 300_000 };
/** The only Node.js that the machine has. */
const node = join(import.meta.dirname, "../../../node_modules/.bin/node");
/** What no session, parent or environment leads to. */
const hides = `${join(import.meta.dirname, "../../fixtures/hides")} ~/hidden; sleep 1000`;

test("the end of a job is the end of what hid from it", options, async (t) => {
  const installed = await install(t);
  const { agent } = installed;
  const { id } = await agent.call("submit", aSubmission(hides));
  const pid = await hiddenPid(installed);
  assert.equal(listGroups(installed).length, 1);

  await agent.call("cancelJob", { id, graceMs: 0 });

  await assertGone(installed, pid);
});

test(
  "an agent in a group below that of its unit makes those of jobs beside it",
  options,
  async (t) => {
    // What `DelegateSubgroup=` does from systemd 254 on.
    const enter =
      "d=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup | sed s,/agent$,,); mkdir -p $d/agent; echo $$ > $d/agent/cgroup.procs";
    const agentCommand = [node, ...programArgs("agent")].join(" ");
    const start = `ExecStart=/bin/sh -c '${enter.replaceAll("$", "$$$$")}; exec ${agentCommand}'`;
    const installed = await install(t, "ExecStart=", start);
    const { agent } = installed;
    const { id } = await agent.call("submit", aSubmission(hides));
    const pid = await hiddenPid(installed);
    const [job = ""] = listGroups(installed);
    assert.match(job, /^outrigger-jobs-1-/);
    assert.ok(existsSync(join(unitGroup(installed), "agent")));

    await agent.call("cancelJob", { id, graceMs: 0 });

    await assertGone(installed, pid);
  },
);

test("a hook that takes too long ends with what hid from it", options, async (t) => {
  const installed = await install(t);
  const { agent } = installed;
  const hook = { run: hides, events: ["stop" as const], timeoutSeconds: 10 };
  await agent.call("putHooks", { version: "v1", hooks: [hook] });
  const order = { id: "l1", event: "stop", cause: "user", because: "a test" } as const;
  await agent.call("beginLifecycle", order);
  const pid = await hiddenPid(installed);

  const { runs } = await until(async () => {
    const found = await agent.call("getLifecycle", { id: "l1" });
    return found.status === "READY" ? found : undefined;
  });

  assert.deepEqual(
    runs.map(({ status, exitCode }) => [status, exitCode]),
    [["TIMED_OUT", 124]],
  );
  await assertGone(installed, pid);
});

const hiddenPid = ({ machine }: Installed): Promise<string> => {
  const file = join(machine.disk, "root/hidden");
  return until(() =>
    existsSync(file) ? readFileSync(file, "utf8").trim() || undefined : undefined,
  );
};

const unitGroup = ({ machine }: Installed): string =>
  join(machine.groups, "system.slice/outrigger-agent.service");

/** The control groups below that of the unit, but for the one of the agent itself. */
const listGroups = (installed: Installed): string[] =>
  readdirSync(unitGroup(installed), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "agent")
    .map(({ name }) => name);

async function assertGone(installed: Installed, pid: string): Promise<void> {
  assert.notEqual((await installed.machine.run("kill", "-0", pid)).code, 0);
  assert.deepEqual(listGroups(installed), []);
}
