import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Entry } from "../../../contract/files-api.ts";
import { fillBucket } from "../../../control/buckets/fill.ts";
import { openS3 } from "../../../control/buckets/s3.ts";
import { startS3, whyNoS3 } from "../../helpers/s3-store.ts";
import { openLink } from "../../helpers/store-link.ts";

const { signal } = new AbortController();

test("a bucket is made, filled with what it lacks, and deleted", { skip: whyNoS3 }, async (t) => {
  const store = await startS3(t);
  const link = await openLink(t, store.endpoint);
  const folder = mkdtempSync(join(tmpdir(), "fill-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const address = { name: "s3://b", region: "us-east-1", bucket: "bucket", keys: store.keys };
  const bucket = openS3({ ...address, endpoint: link.url }, () => new Date(), 1);
  const fileOf = ({ sha256 }: { sha256: string }) => join(folder, sha256);
  const fileEntry = (path: string, bytes: Buffer): Entry => {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(fileOf({ sha256 }), bytes);
    return { kind: "file", path, size: bytes.length, mode: 0o644, sha256 };
  };
  const stored = (path: string) => readFileSync(join(store.folder, "bucket", path));
  // More than two parts.
  const large = Buffer.alloc(40 * 2 ** 20, "large");
  const entries = [
    fileEntry("a b/ü+&.txt", Buffer.from("text")),
    fileEntry("empty", Buffer.alloc(0)),
    fileEntry("large", large),
    { kind: "folder", path: "a b" } as const,
    { kind: "link", path: "l", target: "large" } as const,
  ];
  const fill = (some = entries) => fillBucket(bucket, some, fileOf, signal);

  assert.equal(await bucket.look(signal), "missing");
  await bucket.make(signal);
  await bucket.make(signal);
  assert.equal(await bucket.look(signal), "empty");

  const all = { files: 3, changed: 3, changedBytes: large.length + 4, links: 1 };
  assert.deepEqual(await fill(), all);
  assert.equal(await bucket.look(signal), "filled");
  assert.equal(stored("a b/ü+&.txt").toString(), "text");
  assert.equal(stored("empty").length, 0);
  assert.ok(stored("large").equals(large));

  assert.deepEqual(await fill(), { ...all, changed: 0, changedBytes: 0 });
  const changed = [fileEntry("a b/ü+&.txt", Buffer.from("TEXT")), ...entries.slice(1)];
  await store.put("bucket/of-others", "stays");
  assert.deepEqual(await fill(changed), { ...all, changed: 1, changedBytes: 4 });
  assert.equal(stored("of-others").toString(), "stays");

  link.refusesWrites = true;
  await assert.rejects(fill([fileEntry("new", Buffer.from("x"))]), {
    message: /^s3:\/\/b refuses access; pass keys that may create and write it \(403/,
  });
  link.refusesWrites = false;
  await bucket.destroy(signal);
  assert.ok(!existsSync(join(store.folder, "bucket")));
  await bucket.destroy(signal);
});
