import assert from "node:assert/strict";
import { test } from "node:test";
import { programsFor } from "../../common/mounts.ts";

test("mount-s3 writes to Amazon's store alone, and never later", () => {
  const order = {
    ...{ endpoint: "https://s3.us-east-1.amazonaws.com", readOnly: false, cache: null },
  };
  const inChina = "https://s3.cn-north-1.amazonaws.com.cn";
  const elsewhere = { ...order, endpoint: "https://storage.googleapis.com" };

  assert.deepEqual(programsFor(order), ["rclone", "mount-s3"]);
  assert.deepEqual(programsFor({ ...order, endpoint: inChina }), ["rclone", "mount-s3"]);
  assert.deepEqual(programsFor({ ...elsewhere, readOnly: true }), ["rclone", "mount-s3"]);
  assert.deepEqual(programsFor(elsewhere), ["rclone"]);
  assert.deepEqual(programsFor({ ...order, cache: {} }), ["rclone"]);
});
