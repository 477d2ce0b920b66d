import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { listMountsOf, unmount } from "../../../common/mounts.ts";
import { findBearers } from "../../../common/process-tree.ts";
import type { MountOrder } from "../../../contract/mounts-api.ts";
import { startAgent, type TestAgent, until } from "../../helpers/agent.ts";
import { whyNoFuse } from "../../helpers/fuse.ts";
import { findLeaks } from "../../helpers/leaks.ts";
import { type S3Store, startS3, whyNoS3 } from "../../helpers/s3-store.ts";
import { openLink } from "../../helpers/store-link.ts";

const skip = whyNoS3 || whyNoFuse;
const store = (skip ? undefined : await startS3({ after })) as S3Store;
const agent = (skip ? undefined : await startAgent({ after })) as TestAgent;
if (!skip) {
  store.makeBucket("data");
  await store.put("data/a.txt", "a\n");
}
const order = {
  ...{ destination: "~/set", name: "s3://data", bucket: "data", endpoint: store?.endpoint },
  ...{ region: "us-east-1", keys: store?.keys, readOnly: false, cache: null },
} as MountOrder;

const inBucket = (path: string) => readFileSync(join(store.folder, path), "utf8");
const at = (path: string) => join(agent.home, path);
const serverOf = (path: string) => {
  const folder = createHash("sha256").update(at(path)).digest("hex").slice(0, 16);
  const mark = `OUTRIGGER_MOUNT_FOLDER=${at(".outrigger/agent/mounts")}/${folder}`;
  return findBearers(mark)[0]?.pid ?? 0;
};

test("a mounted bucket is read and written, and its keys lie nowhere", { skip }, async () => {
  const { program, problem } = await agent.call("putMount", order);

  assert.match(program, /^rclone v\d/);
  assert.equal(problem, null);
  const { id } = await agent.submit(
    "cat ~/set/a.txt; echo b > ~/set/b.txt; mkdir ~/set/c; echo c > ~/set/c/c.txt; echo d >> ~/set/b.txt",
  );
  assert.equal((await agent.untilJob(id)).status, "SUCCEEDED");
  assert.match(await agent.log(id), /^a\n/);
  // A job has ended once what it wrote is in the bucket.
  assert.equal(inBucket("data/b.txt"), "b\nd\n");
  assert.equal(inBucket("data/c/c.txt"), "c\n");
  assert.deepEqual(findLeaks(store.keys.secret, at(".outrigger")), []);
  const args = readFileSync(`/proc/${serverOf("set")}/cmdline`, "utf8");
  assert.doesNotMatch(args, new RegExp(`${store.keys.secret}|${store.keys.id}`));
});

test("a mount outlives its agent, and one that dies comes back and is told", { skip }, async () => {
  const pid = serverOf("set");
  await agent.end("SIGKILL");
  await agent.start();
  assert.equal(serverOf("set"), pid);
  assert.equal((await agent.call("listMounts", {}))[0]?.problem, null);

  process.kill(pid, "SIGKILL");
  await until(() => (serverOf("set") > 0 && serverOf("set") !== pid) || undefined);
  await until(async () => (await agent.call("listMounts", {}))[0]?.problem === null || undefined);
  assert.equal(readFileSync(at("set/a.txt"), "utf8"), "a\n");
  const told = await eventsOf(agent, "mount");
  assert.ok(
    told.some((text) => text === "s3://data at ~/set was not mounted any more, and is again"),
  );
});

test("what is written while a mount is away is set aside and told, and its folder is read-only", {
  skip,
}, async () => {
  const pid = serverOf("set");
  await agent.end("SIGKILL");
  process.kill(pid, "SIGKILL");
  await until(async () => (await unmount(at("set"))) || undefined);
  assert.equal(statSync(at("set")).mode & 0o222, 0);
  writeFileSync(at("set/mine"), "mine");

  await agent.start();

  await until(async () => (await agent.call("listMounts", {}))[0]?.problem === null || undefined);
  assert.ok(!readdirSync(at("set")).includes("mine"));
  const aside = readdirSync(agent.home).find((name) => name.startsWith("set.not-in-bucket-"));
  assert.equal(readFileSync(at(`${aside}/mine`), "utf8"), "mine");
  const told = `what was written to ${at("set")} while s3://data was not mounted is in ${at(`${aside}`)}`;
  assert.ok((await eventsOf(agent, "mount")).includes(told));
});

test("files come in place of a mount, never through one, and a mount in place of files", {
  skip,
}, async () => {
  const offer = (destination: string, lines: object[]) =>
    agent.call(
      "offerFiles",
      { destination },
      Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")),
    );
  const folder = (path: string) => ({ kind: "folder", path });
  await assert.rejects(
    offer("~/set/sub", [folder("")]),
    /set is in the way: s3:\/\/data is mounted/,
  );
  await assert.rejects(offer("~", []), /cannot be a destination/);

  await offer("~/set", [folder(""), folder("x")]);
  assert.deepEqual(readdirSync(at("set")), ["x"]);
  assert.equal(statSync(at("set")).mode & 0o777, 0o755);
  await agent.call("putMount", order);
  assert.ok(readdirSync(at("set")).includes("a.txt"));
  assert.equal(inBucket("data/a.txt"), "a\n");

  await offer("~/work", [folder(""), folder("in")]);
  await agent.call("putMount", { ...order, destination: "~/work/in" });
  await offer("~/work", [folder(""), folder("in"), folder("other")]);
  await assert.rejects(offer("~/work", [folder("in/below")]), /in is in the way/);
  await offer("~/work", [folder("")]);
  assert.ok(readdirSync(at("work/in")).includes("a.txt"));

  mkdirSync(at("own"));
  writeFileSync(at("own/mine"), "");
  await assert.rejects(
    agent.call("putMount", { ...order, destination: "~/own" }),
    /own is a folder here that has files of its own/,
  );
  await assert.rejects(
    agent.call("putMount", { ...order, destination: "~/set/inner" }),
    /set\/inner lies in .*set, where s3:\/\/data is mounted/,
  );
});

test("no job loses its mount to another order, and what it wrote is in the bucket first", {
  skip,
}, async () => {
  const pid = serverOf("set");
  const { id } = await agent.submit("sleep 1000");
  await agent.untilJob(id, "RUNNING");
  const keys = { id: "other", secret: "other", session: "new" };
  assert.equal((await agent.call("putMount", { ...order, keys })).problem, null);
  assert.equal(serverOf("set"), pid);
  const message = new RegExp(`^s3://data is mounted at .*/set and job ${id} may use it`);
  const readOnly = { ...order, readOnly: true };
  await assert.rejects(agent.call("putMount", readOnly), { name: "ConflictError", message });
  await agent.call("cancelJob", { id });
  await agent.untilJob(id);

  await agent.call("putMount", { ...order, cache: { writeBack: "2s" } });
  writeFileSync(at("set/slow.txt"), "slow");
  await until(async () => (await agent.call("putMount", readOnly)).problem === null || undefined);
  assert.equal(inBucket("data/slow.txt"), "slow");
  assert.equal((await eventsOf(agent, "mount")).at(-1), "1 file (4 bytes) written to buckets");
});

test("a stop ends what still writes, waits until a cache is written back, names what is not, and unmounts", {
  skip,
}, async (t) => {
  const link = await openLink(t, store.endpoint);
  const cache = { writeBack: "1s" };
  await agent.call("putMount", { ...order, destination: "~/late", endpoint: link.url, cache });
  // The bytes are on the way to a store that refuses them.
  link.refusesWrites = true;
  writeFileSync(at("late/late.bin"), "late");
  const begin = (id: string, deadlineAt: number | null) =>
    agent.call("beginLifecycle", { id, event: "stop", cause: "user", because: "test", deadlineAt });
  await begin("one", Date.now() + 8_000);
  await until(
    async () => (await agent.call("getLifecycle", { id: "one" })).status === "READY" || undefined,
  );

  const [told] = (await eventsOf(agent, "mount")).slice(-1);
  assert.equal(told, "1 file (4 bytes) not written: s3://data/late.bin");
  assert.deepEqual(listMountsOf(agent.home), []);
  assert.deepEqual(readdirSync(at("late")), []);

  // Taken back, what the node has is written after all.
  link.refusesWrites = false;
  await agent.call("cancelLifecycle", { id: "one" });
  await until(
    async () =>
      (await agent.call("listMounts", {})).every((one) => one.problem === null) || undefined,
  );
  // What is no job of the agent, and would hold its file open for ever.
  const script =
    "echo held > late/held.txt; exec 3>> late/held.txt; echo open >&3; echo ready; exec sleep 1000";
  const holder = spawn("sh", ["-c", script], {
    cwd: agent.home,
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(holder.stdout, "data");
  await begin("two", null);
  await until(
    async () => (await agent.call("getLifecycle", { id: "two" })).status === "READY" || undefined,
  );
  assert.equal(inBucket("data/late.bin"), "late");
  assert.equal(holder.signalCode, "SIGTERM");
  assert.equal(inBucket("data/held.txt"), "held\nopen\n");
});

/** The texts of a kind of events so far. */
async function eventsOf({ open, call }: TestAgent, kind: string): Promise<string[]> {
  const { lastSeq } = await call("health", {});
  const { body } = await open("events", { after: 0 });
  const texts: string[] = [];
  for await (const line of body.setEncoding("utf8").iterator()) {
    const events = line
      .split("\n")
      .filter(Boolean)
      .map((one: string) => JSON.parse(one));
    texts.push(
      ...events
        .filter((event: { kind: string }) => event.kind === kind)
        .map(({ text }: { text: string }) => text),
    );
    if (events.some(({ seq }: { seq: number }) => seq >= lastSeq)) break;
  }
  return texts;
}
