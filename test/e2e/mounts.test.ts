import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { listMounts } from "../../common/mounts.ts";
import { until } from "../helpers/agent.ts";
import { whyNoFuse } from "../helpers/fuse.ts";
import { findLeaks } from "../helpers/leaks.ts";
import { listNodeHomes, startControl } from "../helpers/programs.ts";
import { startS3, whyNoS3 } from "../helpers/s3-store.ts";

test("buckets are mounted on nodes", {
  skip: whyNoS3 || whyNoFuse,
  timeout: 300_000,
}, async (t) => {
  const store = await startS3(t);
  const control = await startControl(t, { env: { OUTRIGGER_S3_ENDPOINT: store.endpoint } });
  const secrets = Object.entries({
    AWS_ACCESS_KEY_ID: store.keys.id,
    AWS_SECRET_ACCESS_KEY: store.keys.secret,
  }).flatMap(([name, value]) => ["--secret", `${name}=${value}`]);
  const launch = (task: object, ...words: string[]) => {
    writeFileSync(join(control.home, "task.yaml"), JSON.stringify(task));
    return control.cli("launch", "-y", "-c", "dev", ...words, "task.yaml");
  };
  const mountsBelow = () => listMounts().filter(({ path }) => path.startsWith(control.home));
  const inBucket = (name: string) => readFileSync(join(store.folder, "data", name), "utf8");
  store.makeBucket("data");
  await store.put("data/a.txt", "a\n");
  const task = {
    num_nodes: 2,
    file_mounts: {
      "~/set": { source: "s3://data", mode: "MOUNT" },
      "~/out": { source: "s3://data", mode: "MOUNT_CACHED" },
    },
    run: "cat ~/set/a.txt; echo from $OUTRIGGER_NODE_RANK > ~/out/$OUTRIGGER_NODE_RANK.txt",
  };

  await t.test("read and written by jobs, which end once that is done", async () => {
    const { code, stderr, stdout } = await launch(task, ...secrets);

    assert.equal(code, 0, stderr);
    assert.match(stderr, /^~\/set: s3:\/\/data mounted with rclone v\S+ \(on each of 2 nodes\)$/m);
    assert.equal(stdout.match(/\) a$/gm)?.length, 2, stdout);
    assert.equal(inBucket("0.txt"), "from 0\n");
    assert.equal(inBucket("1.txt"), "from 1\n");
    assert.equal(mountsBelow().length, 4);
    assert.deepEqual(findLeaks(store.keys.secret, control.home), []);
  });

  await t.test("undone at a stop, there again after a start, and told", async () => {
    const [home = ""] = listNodeHomes(control.home);
    const stopped = await control.cli("stop", "-y", "dev");
    assert.equal(stopped.code, 0, stopped.stderr);
    assert.deepEqual(mountsBelow(), []);
    assert.ok(!existsSync(join(home, "set/a.txt")));

    const started = await control.cli("start", "-y", "dev");
    assert.equal(started.code, 0, started.stderr);
    await until(() => mountsBelow().length === 4 || undefined);
    assert.equal(readFileSync(join(home, "set/a.txt"), "utf8"), "a\n");
  });

  await t.test("and gone with the cluster, which leaves the bucket as it is", async () => {
    const { code, stderr } = await control.cli("down", "-y", "dev");
    assert.equal(code, 0, stderr);
    assert.deepEqual(mountsBelow(), []);
    assert.equal(inBucket("a.txt"), "a\n");
  });

  await t.test("not without keys of the task, which nodes get to know", async () => {
    const { code, stderr } = await launch(task);
    assert.notEqual(code, 0);
    assert.match(
      stderr,
      /~\/set: s3:\/\/data is not public, and a mount gives its keys to the nodes/,
    );
    const { stdout } = await control.cli("status");
    assert.doesNotMatch(stdout, /dev/);
  });
});
