import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findProgram, listMountsOf, whyNoMounts } from "../../../common/mounts.ts";
import type { MountOrder } from "../../../contract/mounts-api.ts";
import { startAgent, until } from "../../helpers/agent.ts";
import { startS3, whyNoS3 } from "../../helpers/s3-store.ts";

const path = process.env["PATH"] ?? "";
const missing = ["mount-s3", "fusermount3"].find((name) => findProgram(path, name) === undefined);
const skip = whyNoS3 || (whyNoMounts(path) ?? (missing !== undefined && `needs ${missing}`));

/** A PATH without rclone. */
function pathWith(t: TestContext, ...names: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "programs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of names) symlinkSync(findProgram(path, name) ?? "", join(folder, name));
  return folder;
}

test("a bucket is mounted with mount-s3 where rclone is not installed", { skip }, async (t) => {
  const store = await startS3(t);
  store.makeBucket("data");
  await store.put("data/a.txt", "a\n");
  await store.put("data/b.txt", "b\n");
  const PATH = pathWith(t, "mount-s3", "fusermount3", "bash", "cat", "id", "umount");
  const agent = await startAgent(t, { env: { PATH } });
  const order: MountOrder = {
    ...{ destination: "~/set", name: "s3://data", bucket: "data", endpoint: store.endpoint },
    ...{ region: "us-east-1", keys: store.keys, readOnly: true, cache: null },
  };
  const run = async (script: string) => {
    const { id } = await agent.submit(script);
    const { status } = await agent.untilJob(id);
    return { status, log: await agent.log(id) };
  };

  // A rename in such a store would leave an empty object, and succeed.
  await assert.rejects(agent.call("putMount", { ...order, readOnly: false }), {
    name: "NotSupportedError",
    message: /^this node cannot mount s3:\/\/data: mount-s3 .* can write only to Amazon S3/,
  });
  const { program } = await agent.call("putMount", order);
  assert.match(program, /^mount-s3 \d/);
  const first = await run("cat ~/set/a.txt ~/set/b.txt");
  assert.deepEqual(first, { status: "SUCCEEDED", log: "a\nb\n" });
  assert.match((await run("echo d > ~/set/d.txt")).log, /Read-only file system/);

  const keys = { id: store.keys.id, secret: "wrong" };
  await assert.rejects(agent.call("putMount", { ...order, destination: "~/wrong", keys }), {
    name: "StorageError",
    message: /^s3:\/\/data cannot be mounted with mount-s3: Forbidden: /,
  });
  const absent = { ...order, destination: "~/absent", bucket: "absent" };
  await assert.rejects(agent.call("putMount", absent), { message: /bucket does not exist$/ });
  await assert.rejects(agent.call("putMount", { ...order, cache: {} }), {
    message: /mount-s3 has no MOUNT_CACHED/,
  });

  await agent.call("beginLifecycle", {
    ...{ id: "one", event: "stop", cause: "user", because: "test", deadlineAt: null },
  });
  const isReady = async () => (await agent.call("getLifecycle", { id: "one" })).status === "READY";
  await until(async () => (await isReady()) || undefined);
  assert.deepEqual(listMountsOf(agent.home), []);
});
