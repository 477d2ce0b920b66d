import assert from "node:assert/strict";
import { test } from "node:test";
import { programsFor } from "../../../agent/mounts/programs.ts";
import type { MountOrder } from "../../../contract/mounts-api.ts";

test("mount-s3 writes to Amazon's store alone, and never later", () => {
  const order: MountOrder = {
    ...{ destination: "~/set", name: "s3://data", bucket: "data", region: "us-east-1" },
    ...{ endpoint: "https://s3.us-east-1.amazonaws.com", keys: null, readOnly: false, cache: null },
  };
  const elsewhere = { ...order, endpoint: "https://storage.googleapis.com" } as const;

  assert.deepEqual(programsFor(order), ["rclone", "mount-s3"]);
  assert.deepEqual(programsFor({ ...elsewhere, readOnly: true }), ["rclone", "mount-s3"]);
  assert.deepEqual(programsFor(elsewhere), ["rclone"]);
  assert.deepEqual(programsFor({ ...order, cache: {} }), ["rclone"]);
});
