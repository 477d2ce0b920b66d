import assert from "node:assert/strict";
import { test } from "node:test";
import { aTask } from "../../e2e/cluster.ts";
import { launchOn, openServices, whyNoServices } from "../../e2e/ssh-machine.ts";
import { until } from "../../helpers/agent.ts";

const options = { skip: whyNoServices(), timeout: 300_000 };

test("hosts of a pool that are rebooted run their hooks, and serve on", options, async (t) => {
  const { machine, lab, hosts } = await openServices(t);
  const hooks = [{ run: "echo $(id -un) saves", events: ["preemption"] }];
  const config = { config: { hooks }, resources: { infra: "ssh/lab" } };
  await launchOn(lab, hosts, aTask("echo begun; sleep 1000", config));
  for (const { cluster } of hosts) await cluster.untilJob(1, "RUNNING");

  await machine.run("systemctl", "reboot");
  await machine.untilOff();
  for (const { cluster } of hosts) await cluster.untilStatus("INIT");
  await machine.boot();

  for (const { cluster, user, property } of hosts) {
    await until(async () => (await property("ActiveState")) === "active" || undefined);
    await cluster.untilStatus("UP");
    const { text } = await cluster.follow(1);
    assert.match(text, /^begun\n/);
    const [job] = await cluster.queue();
    assert.equal(job?.status, "CANCELLED");
    assert.match(
      String(job?.metadata["reason"]),
      /^the node was taken away \(SIGTERM to the agent\)/,
    );
    const { stdout } = await lab.control.cli("logs", "--hook", "preemption", cluster.name);
    assert.equal(stdout, `${user} saves\n`);
    const { code } = await cluster.follow(await cluster.exec(aTask("true")));
    assert.equal(code, 0);
  }
});
