import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { aService, clientOf, serviceOf } from "../e2e/service.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { evict, startKubeControl } from "./lab.ts";

/** Pods of an image that has a busybox without libraries, and no bash, as Alpine has no glibc. */

const options = { skip: whyNoLab(), timeout: 240_000 };
const resources = { infra: "k8s", cpus: 0.25, memory: 0.5, image_id: "docker:lab/busybox:1" };

test("an image without glibc and bash does all that others do", options, async (t) => {
  const lab = await startKubeControl(t);
  const { control, kubectl } = lab;
  const demo = clusterOf(control, "demo");
  const write = (name: string, text: string) => writeFileSync(join(control.home, name), text);
  mkdirSync(join(control.home, "work"));
  write("work/file", "of the folder\n");
  write("mounted", "of the mount\n");
  const hook = (event: string) => ({ run: `echo $0 saves; sleep 1; echo saved`, events: [event] });
  const task = {
    // Each job takes half of a processor.
    ...{ resources: { ...resources, cpus: 1, ports: 8080 }, workdir: "work" },
    file_mounts: { "~/other/mounted": "mounted" },
    setup: "echo of the set-up > ~/setup",
    run: `cat file ~/other/mounted ~/setup
echo $SHELL; env | grep -E '^(LD_|BASH_ENV|__)'; ls /lib /bin/bash
exec httpd -f -p 8080 -h .`,
    config: { hooks: [hook("preemption"), hook("down")] },
  };
  write("task.yaml", JSON.stringify(task));

  await t.test("its set-up, folder, mounts and log", async () => {
    const launch = ["launch", "-y", "-d", "-c", "demo", "task.yaml"];
    const { code, stderr } = await control.cli(...launch);
    assert.equal(code, 0, stderr);
    const text = await until(async () => {
      const { stdout } = await control.cli("logs", "--no-follow", "demo", "1");
      return stdout.includes("/bin/bash: No such") ? stdout : undefined;
    });
    const lines = text.split("\n").map((line) => line.replace(/^\(.*?\) /, ""));
    const at = lines.indexOf("of the folder");
    assert.deepEqual(lines.slice(at, at + 4), [
      ...["of the folder", "of the mount", "of the set-up", "/bin/sh"],
    ]);
    assert.deepEqual(
      lines.filter((line) => /^(LD_|BASH_ENV|__)/.test(line)),
      [],
    );
  });

  await t.test("a port of it", async () => {
    const { stdout } = await control.cli("status", "--endpoint", "8080", "demo");
    const url = new URL("/file", `http://${stdout.trim().replace(/^http:\/\//, "")}`);
    assert.equal(await (await fetch(url)).text(), "of the folder\n");
  });

  const pod = await kubectl("get", "pods", "--output=jsonpath={.items[0].metadata.name}");
  const inPod = (script: string) => kubectl("exec", pod, "--", "sh", "-c", script);
  const sleepers = () => inPod("ps | grep '[s]leep 98[76]' | wc -l");

  await t.test("a job that is cancelled ends with all that it started", async () => {
    const run = "setsid sleep 987 & (trap '' TERM; sleep 986) & wait";
    const id = await demo.exec(JSON.stringify({ resources, run }));
    await until(async () => (await sleepers()) >= "2" || undefined);
    await demo.cancel(id);
    await demo.untilJob(id, "CANCELLED");
    assert.equal(await sleepers(), "0");
  });

  await t.test("an agent that crashes starts again, and jobs continue", async () => {
    await inPod("kill -KILL $(ps | awk '/agent[.]mjs$/ { print $1 }')");
    const id = await demo.exec(JSON.stringify({ resources, run: "echo again; exit 3" }));
    const { text } = await demo.follow(id);
    assert.match(text, /again/);
    assert.equal(await demo.jobStatus(1), "RUNNING");
  });

  await t.test("its hooks, and their logs, although the agent has just crashed", async () => {
    await evict(lab, pod);
    const log = await until(async () => {
      const { stdout } = await control.cli("logs", "--hook", "preemption", "demo");
      return stdout.includes("saved") ? stdout : undefined;
    });
    assert.match(log, /hook.* saves\nsaved/s);
  });

  await demo.down();
});

test("an image without a shell is refused with what it lacks", options, async (t) => {
  const { control, kubectl } = await startKubeControl(t);
  const image = { ...resources, image_id: "docker:lab/pause:1" };
  writeFileSync(join(control.home, "task.yaml"), JSON.stringify({ resources: image, run: "true" }));
  const { code, stderr } = await control.cli("launch", "-y", "-c", "demo", "task.yaml");
  assert.notEqual(code, 0);
  assert.match(stderr, /StartError: .*"\/bin\/sh".* no such file/);
  await until(async () => (await kubectl("get", "pods", "--output=name")) === "" || undefined);
});

test("a replica of it is behind its sidecar", options, async (t) => {
  const { control } = await startKubeControl(t);
  const service = serviceOf(control, "chat");
  const run = "mkdir www && echo ok > www/health && exec httpd -f -p $PORT -h www";
  const more = { resources: { ...resources, ports: 8_080 } };
  const only = { replicas: 1, auth: { api_key: "$API_KEY" } };
  const client = clientOf(t, await service.up(aService(control, { run, service: only, more })));
  await service.untilReady(1);

  assert.equal((await client.get("/health", "sesame")).status, 401);
  assert.deepEqual(await client.get("/health"), { status: 200, text: "ok\n" });
  await service.down();
});
