import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { storageOperations as rows } from "../../../contract/operations/storage.ts";
import { collect } from "../../../control/collector.ts";
import { findStorage, setKeys } from "../../../control/storage/store.ts";
import { startS3, whyNoS3 } from "../../helpers/s3-store.ts";
import { openLink } from "../../helpers/store-link.ts";
import { testWorld } from "../../helpers/world.ts";
import { launch } from "./rows.ts";

const files = { "d/a": "1", "e/f": "" };
const storage = { name: "my-set", store: "s3", source: "/d" };

/** A store, and a control plane that has keys of its own for it or none. */
async function worldWithStore(t: TestContext, hasKeys = false) {
  const store = await startS3(t);
  const folder = mkdtempSync(join(tmpdir(), "keys-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const s3KeysFile = join(folder, "keys");
  const { id, secret } = store.keys;
  writeFileSync(s3KeysFile, `aws_access_key_id=${id}\naws_secret_access_key=${secret}\n`);
  const config = { s3Endpoint: store.endpoint, ...(hasKeys && { s3KeysFile }) };
  const world = await testWorld(t, { config });
  const isThere = (path: string) => existsSync(join(store.folder, path));
  const secrets = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret };
  return { store, world, secrets, isThere };
}

test("control's own keys make buckets, and write to no bucket of others", {
  skip: whyNoS3,
}, async (t) => {
  const { store, world, isThere } = await worldWithStore(t, true);
  store.makeBucket("my-set");
  await assert.rejects(launch(world, files, storage), {
    message: /^~\/set: s3:\/\/my-set exists and is not a storage of this control plane; pass keys/,
  });
  assert.ok(!isThere("my-set/a"));
  rmSync(join(store.folder, "my-set"), { recursive: true });

  await launch(world, files, storage);
  assert.ok(isThere("my-set/a"));
  await assert.rejects(launch(world, files, { ...storage, mode: "MOUNT" }), {
    message: /^~\/set: s3:\/\/my-set is not public, and a mount gives its keys to the nodes/,
  });
  await assert.rejects(launch(world, files, { name: "my-set", store: "gcs" }), {
    message: "~/set: there is a storage my-set already, which is not gs://my-set",
  });
});

test("a bucket is recorded before it is made, and only what control surely made is deleted with its files", {
  skip: whyNoS3,
}, async (t) => {
  const { world, store, isThere } = await worldWithStore(t, true);
  const { batch } = world.ctx;
  const statusOf = async () => (await findStorage(world.ctx.db, "my-set"))?.status;
  const remove = () => world.run(rows.delete, { name: "my-set" });
  const launchKilled = async () => {
    const dies: typeof batch = (work) => {
      if (!isThere("my-set")) return batch(work);
      Object.assign(world.ctx, { batch });
      return Promise.reject(new AppError("StorageError", "killed"));
    };
    Object.assign(world.ctx, { batch: dies });
    await assert.rejects(launch(world, files, storage), /killed/);
  };

  await launchKilled();
  assert.equal(await statusOf(), "INIT_FAILED");
  await launch(world, files, storage);
  assert.ok(isThere("my-set/a"));
  assert.equal(await statusOf(), "READY");
  await remove();
  assert.ok(!isThere("my-set"));

  await launchKilled();
  await remove();
  assert.ok(!isThere("my-set"));

  await launchKilled();
  await store.put("my-set/of-others", "stays");
  await assert.rejects(
    launch(world, files, storage),
    /exists and is not a storage of this control/,
  );
  await remove();
  assert.ok(isThere("my-set/of-others"));
  assert.equal(await statusOf(), undefined);
});

test("a bucket that the store refuses to make leaves no record", { skip: whyNoS3 }, async (t) => {
  const { world, store } = await worldWithStore(t, true);
  const link = await openLink(t, store.endpoint);
  Object.assign(world.ctx.config, { s3Endpoint: link.url });
  link.refusesWrites = true;

  await assert.rejects(launch(world, files, storage), /s3:\/\/my-set refuses access/);

  assert.deepEqual(await world.run(rows.list, {}), []);
});

test("buckets that are not persistent go with their cluster by the keys of its task, each for itself", {
  skip: whyNoS3,
}, async (t) => {
  const { world, secrets, isThere } = await worldWithStore(t);
  const { db, seal, batch } = world.ctx;
  const passing = { ...storage, persistent: false };
  await launch(world, files, passing, secrets);
  await launch(world, files, { ...passing, name: "other" }, secrets);
  await collect(world.ctx);
  assert.ok(isThere("my-set/a") && isThere("other/a"));
  const first = (await findStorage(db, "my-set")) ?? assert.fail();
  await batch((tx) => setKeys(tx, seal, first, { id: "test-key", secret: "wrong" }));
  await world.run(clusters.down, { cluster_name: "c" });

  await assert.rejects(collect(world.ctx), ({ errors }: AggregateError) =>
    /s3:\/\/my-set refuses access/.test(String(errors)),
  );

  assert.deepEqual([isThere("my-set/a"), isThere("other")], [true, false]);
  const left = await world.run(rows.list, {});
  assert.deepEqual(
    left.map(({ name, store }) => [name, store]),
    [["my-set", ["S3"]]],
  );
});
