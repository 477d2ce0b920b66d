import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import { startEngine, whyNoEngine } from "../helpers/engines.ts";
import { whyNoFuse } from "../helpers/fuse.ts";
import { findAgent, kill, listNodeHomes, startControl } from "../helpers/programs.ts";
import { startS3, whyNoS3 } from "../helpers/s3-store.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { aService, clientOf, serviceOf } from "./service.ts";

const skip = whyNoEngine("docker");

test("a cluster runs in an image, from its launch to its removal", {
  skip,
  timeout: 300_000,
}, async (t) => {
  const engine = await startEngine(t, "docker");
  const control = await startControl(t, { env: engine.env });
  const cluster = clusterOf(control, "boxed");
  const containers = async () => (await engine.run("ps", "-aq")).split("\n").filter(Boolean);
  const folder = join(control.home, "task");
  mkdirSync(join(folder, "work"), { recursive: true });
  writeFileSync(join(folder, "work/file"), "of the working folder\n");
  const task = {
    num_nodes: 2,
    resources: { image_id: `docker:${engine.image}` },
    workdir: join(folder, "work"),
    file_mounts: { "~/single": join(folder, "work/file") },
    setup: 'echo "echo installed" > /usr/bin/thing; chmod +x /usr/bin/thing',
    run: 'tool; thing; cat file ~/single; echo "$WHO"; [ -e /etc/debian_version ] || echo "rank $SKYPILOT_NODE_RANK is inside"',
    envs: { WHO: "me" },
    config: { hooks: [{ run: "echo hook; tool; thing", events: ["stop", "down"] }] },
  };
  writeFileSync(join(folder, "task.yaml"), stringify(task));

  await t.test("a launch tells of the image, and each node runs in a container", async () => {
    const { code, stdout, stderr } = await control.cli(
      "launch",
      "-y",
      "-c",
      "boxed",
      join(folder, "task.yaml"),
    );
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /^image: lab\/busy:1 is there, and its container was started by docker \(on each of 2 nodes\)$/m,
    );
    for (const rank of [0, 1]) assert.match(stdout, new RegExp(`rank ${rank} is inside`));
    for (const line of ["the tool of the image", "installed", "of the working folder", "me"])
      assert.match(stdout, new RegExp(`${line}$`, "m"));
    assert.equal((await containers()).length, 2);
  });

  await t.test("later jobs and shells run in it, and no other image is taken", async () => {
    const id = await cluster.exec(aTask("thing"));
    assert.equal((await cluster.follow(id)).text, "installed\n");
    const shell = await control.cli("shell", "boxed", "--", "thing; tool; exit 4");
    assert.deepEqual([shell.code, shell.stdout], [4, "installed\nthe tool of the image\n"]);
    const other = aTask("true", { resources: { image_id: "docker:lab/other:1" } });
    await assert.rejects(cluster.exec(other), /run in lab\/busy:1, the task asks for lab\/other:1/);
  });

  await t.test(
    "a stop runs hooks in it and ends it; a start finds what was installed",
    async () => {
      await cluster.stop();
      assert.deepEqual(await engine.run("ps", "-q"), "");
      const log = (await control.cli("logs", "--hook", "stop", "boxed")).stdout;
      assert.match(log, /^hook\nthe tool of the image\ninstalled\n/m);
      await cluster.start();
      const id = await cluster.exec(aTask("thing"));
      assert.equal((await cluster.follow(id)).text, "installed\n");
    },
  );

  await t.test(
    "a registry that is away keeps a new cluster, a wrong option removes it",
    async () => {
      const launch = async (name: string, more: object) => {
        writeFileSync(join(folder, `${name}.yaml`), aTask("true", more));
        return control.cli("launch", "-y", "-c", name, join(folder, `${name}.yaml`));
      };
      const away = await launch("away", { resources: { image_id: "docker:127.0.0.1:1/none" } });
      assert.notEqual(away.code, 0);
      assert.match(away.stderr, /image 127\.0\.0\.1:1\/none: docker says: .*connection refused/);
      assert.match(away.stderr, /cluster away stays up without its container; launch again/);
      const outside = await control.cli("exec", "away", "echo outside");
      assert.deepEqual([outside.code === 0, outside.stdout.includes("outside\n")], [false, false]);
      assert.notEqual((await control.cli("shell", "away", "--", "echo outside")).code, 0);
      await clusterOf(control, "away").down();

      const resources = { image_id: "docker:lab/busy:1" };
      const config = { docker: { run_options: ["--no-such-option"] } };
      const wrong = await launch("wrong", { resources, config });
      assert.notEqual(wrong.code, 0);
      assert.match(wrong.stderr, /options are invalid.*no-such-option/);
      await clusterOf(control, "wrong").untilStatus(undefined);
    },
  );

  await t.test("a removal leaves no container, though an agent was killed", async () => {
    for (const home of listNodeHomes(control.home)) kill(findAgent(home) ?? 0);
    await cluster.down();
    assert.deepEqual(await containers(), []);
  });
});

test("copied and mounted buckets are there in a container", {
  skip: skip || whyNoS3 || whyNoFuse,
  timeout: 200_000,
}, async (t) => {
  const store = await startS3(t);
  store.makeBucket("data");
  await store.put("data/a.txt", "a\n");
  const engine = await startEngine(t, "docker");
  const env = { ...engine.env, OUTRIGGER_S3_ENDPOINT: store.endpoint };
  const { cli, home } = await startControl(t, { env });
  const task = {
    resources: { image_id: `docker:${engine.image}` },
    file_mounts: {
      "~/copied": { source: "s3://data", mode: "COPY" },
      "~/mounted": { source: "s3://data", mode: "MOUNT" },
    },
    secrets: { AWS_ACCESS_KEY_ID: store.keys.id, AWS_SECRET_ACCESS_KEY: store.keys.secret },
    run: "tool; cat ~/copied/a.txt ~/mounted/a.txt; echo b > ~/mounted/b.txt",
  };
  writeFileSync(join(home, "task.yaml"), stringify(task));

  const { code, stdout, stderr } = await cli("launch", "-y", "-c", "boxed", "task.yaml");

  assert.equal(code, 0, stderr);
  assert.match(stdout, /the tool of the image\n.*a\n.*a$/m);
  assert.equal(readFileSync(join(store.folder, "data/b.txt"), "utf8"), "b\n");
  assert.equal((await cli("down", "-y", "boxed")).code, 0);
  assert.equal(await engine.run("ps", "-aq"), "");
});

test("a replica serves from a container, behind its sidecar", {
  skip,
  timeout: 200_000,
}, async (t) => {
  const engine = await startEngine(t, "docker");
  const control = await startControl(t, { env: engine.env });
  const service = serviceOf(control, "boxed");
  const run = `unset API_KEY; mkdir www; tool > www/health; exec httpd -f -p "$PORT" -h www`;
  const image_id = `docker:${engine.image}`;
  const resources = { infra: "local", ports: control.ports.document, image_id };
  const auth = { api_key: "$API_KEY" };
  const task = aService(control, { run, service: { replicas: 1, auth }, more: { resources } });
  const client = clientOf(t, await service.up(task));
  await service.untilReady(1);

  const answer = { status: 200, text: "the tool of the image\n" };
  assert.deepEqual(await client.get("/health"), answer);
  assert.equal((await client.get("/health", "wrong")).status, 401);

  await service.down();
  assert.equal(await engine.run("ps", "-aq"), "");
});
