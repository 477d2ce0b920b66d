import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { jobOperations as jobRows } from "../../contract/operations/jobs.ts";
import type { ManagedJobRecord } from "../../contract/records/jobs.ts";
import { until } from "../helpers/agent.ts";
import { aTask } from "./cluster.ts";
import { launchOn, openServices, type Service, whyNoServices } from "./ssh-machine.ts";

const skip = whyNoServices();
const place = { resources: { infra: "ssh/lab" } };
const patient = "echo begun; until [ -e ~/go ]; do sleep 0.05; done; echo over; rm ~/go";
/** Where things of ours may lie; what is named here was there before us. */
const places = ["root", "home/ann", "etc/systemd", "var/lib/systemd/linger", "var/cache", "tmp"];

test("hosts with systemd have the agent as a service", { skip, timeout: 300_000 }, async (t) => {
  const { machine, lab, hosts } = await openServices(t);
  const listFiles = () =>
    places.flatMap((place) =>
      readdirSync(join(machine.disk, place), { recursive: true, encoding: "utf8" })
        .filter((name) => !name.startsWith("systemd-private-"))
        .map((name) => join(place, name))
        .sort(),
    );
  const filesBefore = listFiles();
  const onEach = (work: (host: Service) => Promise<void>) => Promise.all(hosts.map(work));

  await t.test("of root or of a user, which starts with the cluster", async () => {
    await launchOn(lab, hosts, aTask("true", place));
    await onEach(async ({ cluster, ctl, user }) => {
      assert.equal((await ctl("is-enabled")).stdout, "enabled\n");
      const { text } = await cluster.follow(await cluster.exec(aTask("id -un")));
      assert.equal(text, `${user}\n`);
    });
  });

  await t.test("and again whenever it ends; jobs go on", async () => {
    await onEach(async ({ cluster, ctl, home, property }) => {
      const id = await cluster.exec(aTask(patient));
      await cluster.untilJob(id, "RUNNING");
      const before = await property("MainPID");
      await ctl("kill", "-s", "KILL", "--kill-whom=main");
      await until(async () =>
        ["0", before].includes(await property("MainPID")) ? undefined : true,
      );
      writeFileSync(join(home, "go"), "");
      assert.equal((await cluster.follow(id)).text, "begun\nover\n");
    });
  });

  await t.test("an upgrade replaces them, and touches no job", async () => {
    const begun = await Promise.all(
      hosts.map(async ({ cluster }) => {
        const id = await cluster.exec(aTask(patient));
        await cluster.untilJob(id, "RUNNING");
        return id;
      }),
    );
    await lab.control.end("SIGTERM");
    await onEach(async ({ ctl, reload, property }) => {
      const file = join(machine.disk, await property("DropInPaths"));
      const text = readFileSync(file, "utf8");
      writeFileSync(file, text.replace(/(OUTRIGGER_BUILD)=.*/, "$1=older"));
      await reload();
      await ctl("restart");
      assert.match(await property("Environment"), /OUTRIGGER_BUILD=older/);
    });
    await lab.control.start();
    await onEach(async ({ cluster, home, property }) => {
      const id = begun[hosts.findIndex((host) => host.cluster === cluster)] ?? 0;
      await until(async () => !(await property("Environment")).includes("=older") || undefined);
      writeFileSync(join(home, "go"), "");
      assert.deepEqual(await cluster.follow(id), { code: 0, text: "begun\nover\n" });
    });
  });

  await t.test("they are back after the power was, and tell the truth about jobs", async () => {
    const ids = await Promise.all(
      hosts.map(async ({ cluster }) => {
        const id = await cluster.exec(aTask("sleep 1000"));
        await cluster.untilJob(id, "RUNNING");
        return id;
      }),
    );
    writeFileSync(join(machine.groups, "cgroup.kill"), "1");
    await machine.untilOff();
    await machine.boot();
    await onEach(async ({ property }) => {
      await until(async () => ((await property("ActiveState")) === "active" ? true : undefined));
    });
    await onEach(async ({ cluster }) => {
      const id = ids[hosts.findIndex((host) => host.cluster === cluster)] ?? 0;
      await cluster.untilStatus("UP");
      await cluster.untilJob(id, "FAILED_DRIVER");
      const [job] = await cluster.queue();
      assert.match(String(job?.metadata["reason"]), /the machine was rebooted/);
    });
  });

  await t.test("a stop ends them, a start has them back, down removes them", async () => {
    await onEach(async ({ cluster, ctl, property }) => {
      await cluster.stop();
      assert.equal(await property("ActiveState"), "inactive");
      await ctl("start");
      assert.equal(await property("ActiveState"), "inactive");
      await cluster.start();
      assert.equal(await property("ActiveState"), "active");
      await cluster.down();
      assert.equal(await property("LoadState"), "not-found");
    });
  });

  await t.test("a managed job runs again after the power was away", async () => {
    const { client } = lab.control;
    const untilJob = (isSo: (job: ManagedJobRecord) => boolean) =>
      until(async () => {
        const { jobs } = await client.callAndGet(jobRows.queueV2, { job_ids: [1] });
        return jobs[0] !== undefined && isSo(jobs[0]) ? jobs[0] : undefined;
      });
    const run = "echo $OUTRIGGER_RECOVERY_COUNT; [ $OUTRIGGER_RECOVERY_COUNT = 1 ] || sleep 1000";
    await client.callAndGet(jobRows.launch, { task: aTask(run, place), name: null });
    const logOf = async (...more: string[]) =>
      (await lab.control.cli("jobs", "logs", "1", ...more)).stdout;
    await until(async () => (await logOf("--no-follow")) === "0\n" || undefined);

    writeFileSync(join(machine.groups, "cgroup.kill"), "1");
    await machine.untilOff();
    await machine.boot();
    const { status, recovery_count } = await untilJob((job) => job.schedule_state === "DONE");

    assert.deepEqual([status, recovery_count], ["SUCCEEDED", 1]);
    assert.equal(await logOf(), "0\n1\n");
    const told = (await lab.control.cli("jobs", "events", "1")).stdout;
    assert.match(told, /RECOVERING +.*the machine was rebooted/);
  });

  await t.test("nothing of ours is left there, not even what systemd was asked for", async () => {
    const { error, text } = await lab.run("down");
    assert.equal(error, null, text);
    assert.deepEqual(listFiles(), filesBefore);
    assert.equal((await machine.run("pgrep", "-fc", "outrigger")).stdout, "0\n");
  });
});
