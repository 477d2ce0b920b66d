import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { whyNoFuse } from "../helpers/fuse.ts";
import { findLeaks } from "../helpers/leaks.ts";
import { startControl } from "../helpers/programs.ts";
import { startS3, whyNoS3 } from "../helpers/s3-store.ts";

test("tasks name buckets of stores", {
  skip: whyNoS3 || whyNoFuse,
  timeout: 300_000,
}, async (t) => {
  const store = await startS3(t);
  const google = await startS3(t, "auto");
  const control = await startControl(t, {
    env: { OUTRIGGER_S3_ENDPOINT: store.endpoint, OUTRIGGER_GCS_ENDPOINT: google.endpoint },
  });
  const secretsOf = (prefix: string) => [
    ...["--secret", `${prefix}_ACCESS_KEY_ID=${store.keys.id}`],
    ...["--secret", `${prefix}_SECRET_ACCESS_KEY=${store.keys.secret}`],
  ];
  const launch = (storage: object, run: string, ...words: string[]) => {
    const task = { file_mounts: { "~/set": storage }, run };
    writeFileSync(join(control.home, "task.yaml"), JSON.stringify(task));
    return control.cli("launch", "-y", "-c", "dev", ...words, "task.yaml");
  };
  mkdirSync(join(control.home, "data"));
  writeFileSync(join(control.home, "data/a.txt"), "a\n");
  const made = { name: "made", source: "data" };
  const brought = { ...made, name: "brought" };
  store.makeBucket("brought");
  await store.put("brought/theirs", "theirs\n");

  for (const [kind, prefix, { folder }] of [
    ["s3", "AWS", store],
    ["gcs", "GCS", google],
  ] as const)
    await t.test(`${kind}: made, filled, mounted, copied, listed, and deleted`, async () => {
      const keys = secretsOf(prefix);
      const mounted = await launch(
        { ...made, store: kind },
        "cat ~/set/a.txt > ~/set/b.txt",
        ...keys,
      );
      assert.equal(mounted.code, 0, mounted.stderr);
      assert.match(mounted.stderr, /^~\/set: 1 of 1 file changed, 2 bytes in \w+:\/\/made$/m);
      assert.match(mounted.stderr, /^~\/set: \w+:\/\/made mounted with rclone/m);
      assert.equal(readFileSync(join(folder, "made/b.txt"), "utf8"), "a\n");

      // Where it is, and its keys, are known by now.
      const copied = await launch({ name: "made", mode: "COPY" }, "cat ~/set/b.txt");
      assert.match(copied.stderr, /^~\/set: 2 of 2 files changed/m);
      assert.match(copied.stdout, /^a$/m);
      const { stdout } = await control.cli("storage", "ls");
      assert.match(stdout, new RegExp(`^made +${kind} +READY`, "m"));
      assert.deepEqual(findLeaks(store.keys.secret, control.home), []);

      const deleted = await control.cli("storage", "delete", "-y", "made");
      assert.equal(deleted.code, 0, deleted.stderr);
      assert.ok(!existsSync(join(folder, "made")));
    });

  await t.test(
    "a bucket of the user's is filled with his keys alone, and never deleted",
    async () => {
      const filled = await launch(
        { ...brought, store: "s3", mode: "COPY" },
        "cat ~/set/*",
        ...secretsOf("AWS"),
      );
      assert.match(filled.stdout, /^a\ntheirs$/m);
      const none = await control.cli("storage", "delete", "-y", "brought");
      assert.equal(none.code, 3);
      assert.equal(readFileSync(join(store.folder, "brought/theirs"), "utf8"), "theirs\n");
    },
  );
});
