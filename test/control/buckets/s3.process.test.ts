import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { before, test } from "node:test";
import { request } from "undici";
import { openS3 } from "../../../control/buckets/s3.ts";
import type { S3Address } from "../../../control/buckets/s3-asking.ts";
import { type S3Store, startS3, whyNoS3 } from "../../helpers/s3-store.ts";

const skip = whyNoS3;
const { signal } = new AbortController();
const cleaners: (() => Promise<void>)[] = [];
const t = { after: (clean: () => Promise<void>) => void cleaners.push(clean) };
const toList = <Item>(items: AsyncIterable<Item>): Promise<Item[]> =>
  Readable.from(items).toArray();
let store: S3Store;

before(
  async () => {
    if (!skip) store = await startS3(t);
  },
  { timeout: 60_000 },
);
test.after(async () => {
  for (const clean of cleaners) await clean();
});

function bucket(name: string, more: Partial<S3Address> = {}) {
  const { endpoint, keys } = store;
  const address = { name: `s3://${name}`, endpoint, region: "us-east-1", bucket: name, keys };
  return openS3({ ...address, ...more }, () => new Date());
}

test("objects are listed page by page and read by an address, whatever their names", {
  skip,
}, async () => {
  store.makeBucket("many");
  const odd = ["a b+c&d.txt", "ünïcode/'(*)!~", '<x>"&amp;'];
  const keys = [...odd, ...Array.from({ length: 1_100 }, (_, at) => `n/${at}`)];
  for (const key of odd) await store.put(`many/${key}`, key);
  mkdirSync(join(store.folder, "many/n"));
  for (const key of keys.slice(odd.length)) writeFileSync(join(store.folder, "many", key), key);
  const many = bucket("many");

  const listed = await toList(many.list("", signal));

  assert.deepEqual(listed.map(({ key }) => key).toSorted(), keys.toSorted());
  assert.equal((await toList(many.list("n/", signal))).length, 1_100);
  for (const key of odd) {
    const object = await many.find(key, signal);
    assert.equal(object?.size, Buffer.byteLength(key));
    assert.match(object.etag, /^"[\da-f]{32}"$/);
    const { statusCode, headers, body } = await request(many.addressOf(key));
    assert.deepEqual([statusCode, headers["etag"], await body.text()], [200, object.etag, key]);
  }
  assert.equal(await many.find("n", signal), undefined);
});

test("a wrong secret, an absent bucket and one without keys are told apart", { skip }, async () => {
  store.makeBucket("closed");
  const list = (one: ReturnType<typeof bucket>) => toList(one.list("", signal));

  await assert.rejects(list(bucket("closed", { keys: { id: store.keys.id, secret: "wrong" } })), {
    name: "PermissionDeniedError",
    message: /^s3:\/\/closed refuses access.*\(403 SignatureDoesNotMatch\)$/,
  });
  await assert.rejects(list(bucket("closed", { keys: undefined })), {
    name: "PermissionDeniedError",
    message: /\(403 AccessDenied\)/,
  });
  await assert.rejects(list(bucket("absent")), {
    name: "NotFoundError",
    message: "s3://absent does not exist (404 NoSuchBucket)",
  });
  rmSync(join(store.folder, "closed"), { recursive: true });
  await assert.rejects(list(bucket("closed")), { name: "NotFoundError" });
  await assert.rejects(list(bucket("x", { endpoint: "http://127.0.0.1:1" })), {
    name: "StorageError",
    message: /^s3:\/\/x cannot be reached: /,
  });
});

test("an address of one object is good for that alone", { skip }, async () => {
  store.makeBucket("signed");
  await store.put("signed/a", "text");
  await store.put("signed/b", "text");
  const address = bucket("signed").addressOf("a");

  const { statusCode, body } = await request(address.replace("/a?", "/b?"));
  await body.dump();
  assert.equal(statusCode, 403);
});
