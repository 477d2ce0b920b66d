import assert from "node:assert/strict";
import { test } from "node:test";
import { mountsOn } from "../../control/needs.ts";
import { readTask } from "../../control/task.ts";

for (const [mounts, needed] of [
  ["~/a: {source: s3://a, mode: COPY}", undefined],
  ["~/a: {source: gs://a, config: {mount: {read_only: true}}}", true],
  ["~/a: {source: s3://a}", "writes to S3"],
  ["~/a: {name: a-set, store: s3}", "writes to S3"],
  ["~/a: {source: gs://a}", "rclone"],
  ["~/a: {source: s3://a, mode: MOUNT_CACHED}, ~/b: {source: s3://b}", "rclone"],
] as const)
  test(`a task that mounts ${mounts} needs: ${needed ?? "no program"}`, () => {
    assert.equal(mountsOn(readTask(`file_mounts: {${mounts}}`, "launch")).mounts, needed);
  });
