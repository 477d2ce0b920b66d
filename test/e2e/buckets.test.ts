import assert from "node:assert/strict";
import { createHash, type Hash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { findLeaks } from "../helpers/leaks.ts";
import { findAgent, listNodeHomes, peakMemoryOf, startControl } from "../helpers/programs.ts";
import { startS3, whyNoS3 } from "../helpers/s3-store.ts";
import { openLink } from "../helpers/store-link.ts";

const mebibyte = 2 ** 20;
const objectMb = Number(process.env["COPY_TEST_MB"] ?? 64);
const size = objectMb * mebibyte;
/** As agents fetch large objects. */
const partBytes = 16 * mebibyte;
/** What an agent may take, however large an object is. */
const peakAtMost = 160 * mebibyte;
/** What half of a large object may take on a busy machine, and the whole test. */
const halfMs = 120_000 + objectMb * 200;
const timeout = 900_000 + objectMb * 1_000;

test("buckets are copied to nodes", { skip: whyNoS3, timeout }, async (t) => {
  const store = await startS3(t);
  const link = await openLink(t, store.endpoint);
  const control = await startControl(t, { env: { OUTRIGGER_S3_ENDPOINT: link.url } });
  const secrets = Object.entries({
    AWS_ACCESS_KEY_ID: store.keys.id,
    AWS_SECRET_ACCESS_KEY: store.keys.secret,
  }).flatMap(([name, value]) => ["--secret", `${name}=${value}`]);
  const launch = (task: object, ...words: string[]) => {
    writeFileSync(join(control.home, "task.yaml"), JSON.stringify(task));
    return control.cli("launch", "-c", "dev", ...words, "task.yaml");
  };
  store.makeBucket("data");
  await store.put("data/set/a.txt", "a\n");
  await store.put("data/set/sub/b.txt", "b\n");
  await store.put("data/run.sh", "cat ~/set/a.txt ~/set/sub/b.txt ~/one.txt\n");
  const task = {
    num_nodes: 2,
    workdir: "s3://data",
    file_mounts: {
      "~/set": { source: "s3://data/set", mode: "COPY" },
      "~/one.txt": "s3://data/set/a.txt",
    },
    run: "bash run.sh",
  };

  await t.test("those of a task, to every node, and only what changed again", async () => {
    const first = await launch(task, ...secrets);

    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stderr, /^~\/set: 2 of 2 files changed, 4 bytes \(on each of 2 nodes\)$/m);
    const said = first.stdout.split("\n").filter((line) => line.includes("rank="));
    const ends = said.map((line) => line.replace(/^.*\) /, "")).toSorted();
    assert.deepEqual(ends, ["a", "a", "a", "a", "b", "b"], first.stdout);
    link.gets = 0;
    await store.put("data/set/sub/b.txt", "B!\n");
    const second = await launch(task, ...secrets);
    assert.match(second.stderr, /^~\/set: 1 of 2 files changed, 3 bytes/m);
    assert.match(second.stderr, /^~\/one.txt: 1 file, none changed/m);
    // Into the working folder and into the other one, once each on either node.
    assert.equal(link.gets, 4);
  });

  await t.test("and no key is left anywhere", () => {
    assert.deepEqual(findLeaks(store.keys.secret, control.home), []);
    assert.deepEqual(findLeaks(["X-Amz-", "Signature"].join(""), control.home), []);
  });

  await t.test("what control cannot read is refused before any machine is made", async () => {
    const { code, stderr } = await control.cli("launch", "-c", "none", "task.yaml");
    assert.notEqual(code, 0);
    assert.match(stderr, /s3:\/\/data refuses access; pass keys that may list and read it/);
    const { stdout } = await control.cli("status");
    assert.doesNotMatch(stdout, /none/);
  });

  const nodes = listNodeHomes(control.home);
  const isHalfThere = () => nodes.every(hasHalf) || undefined;
  const large = { file_mounts: { "~/large": "s3://data/large" }, run: "sha256sum < ~/large" };
  /** Uploads another large object; the digest of its bytes. */
  const putLarge = async () => {
    const hash = createHash("sha256");
    const part = randomBytes(8 * mebibyte);
    await store.putInParts("data/large", partsOf(part, size, hash));
    return hash.digest("hex");
  };

  await t.test("a large object goes on after kill -9 of the agent, in little memory", async () => {
    const digest = await putLarge();
    link.heldFrom = size / 2;
    const launching = launch(large, ...secrets);
    await until(isHalfThere, halfMs);
    const [node = ""] = nodes;
    const pid = findAgent(node) ?? 0;
    const peaks = [peakMemoryOf(pid)];
    process.kill(pid, "SIGKILL");
    await until(() => (findAgent(node) ?? pid) !== pid || undefined);
    link.sent = 0;
    link.release();

    const { code, stdout, stderr } = await launching;
    peaks.push(peakMemoryOf(findAgent(node) ?? 0));
    assert.equal(code, 0, stderr);
    assert.ok(stdout.includes(digest), stdout);
    // The other half, to each of two nodes.
    assert.equal(link.sent, size);
    for (const peak of peaks) assert.ok(peak < peakAtMost, `${peak / mebibyte} MB`);
    t.diagnostic(`peaks of the agent: ${peaks.map((peak) => Math.round(peak / mebibyte))} MB`);
  });

  const faults = [
    ["refuses access", "403", "AccessDenied", /large refuses access.*\(403 AccessDenied\)/],
    ["disappears", "404", "NoSuchBucket", /large is not there \(404 NoSuchBucket\)/],
  ] as const;
  for (const [what, status, code, message] of faults)
    await t.test(`a bucket that ${what} on the way fails the launch, which says so`, async () => {
      await putLarge();
      link.heldFrom = size / 2;
      const launching = launch(large, ...secrets);
      await until(isHalfThere, halfMs);
      link.fault = (res) => void res.writeHead(Number(status)).end(`<Code>${code}</Code>`);
      link.cut();

      const { code: exitCode, stderr } = await launching;
      assert.notEqual(exitCode, 0);
      assert.match(stderr, message);
      link.fault = undefined;
    });

  await t.test("a bucket that throttles on the way is waited for", async () => {
    const digest = await putLarge();
    let refused = 0;
    link.fault = (res) => {
      refused += 1;
      if (refused === 20) link.fault = undefined;
      res.writeHead(503, { "retry-after": "0.05" }).end("<Code>SlowDown</Code>");
    };
    const { code, stdout, stderr } = await launch(large, ...secrets);
    assert.equal(code, 0, stderr);
    assert.ok(stdout.includes(digest), stdout);
    assert.equal(refused, 20);
  });

  rmSync(join(store.folder, "data"), { recursive: true });
  const { stderr } = await launch(large, ...secrets);
  assert.match(stderr, /s3:\/\/data does not exist \(404 NoSuchBucket\)/);
});

/** Whether a node has all parts of the first half of an object, and notes of that. */
function hasHalf(node: string): boolean {
  const folder = join(node, ".outrigger/agent/files/contents");
  if (!existsSync(folder)) return false;
  const notes = readdirSync(folder).filter((name) => name.endsWith(".done"));
  const parts = notes.map(
    (name) => readFileSync(join(folder, name), "utf8").split("\n").length - 2,
  );
  return parts.some((count) => count === size / 2 / partBytes);
}

/** Bytes in parts of one size, each another one. */
function* partsOf(part: Buffer, total: number, hash: Hash): Generator<Buffer> {
  for (let left = total; left > 0; left -= part.length) {
    part.writeUInt32LE(left / mebibyte);
    hash.update(part);
    yield part;
  }
}
