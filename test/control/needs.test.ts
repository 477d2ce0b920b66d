import assert from "node:assert/strict";
import { test } from "node:test";
import { askedOfLaunch, askedOfReplica, mountsOn, needsOf } from "../../control/needs.ts";
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

test("the partition of a task without GPUs goes to providers, and what is no text does not", async () => {
  const neededFor = async (partition: string) => {
    const task = readTask(`config: {slurm: {cpu_partition: ${partition}}}`, "launch");
    const asked = await askedOfLaunch({ providers: [] }, task, "default");
    return [asked, askedOfReplica(task, "default")].map((one) => needsOf(one)[0]?.cpuPartition);
  };
  assert.deepEqual(await neededFor("cpu"), ["cpu", "cpu"]);
  assert.deepEqual(await neededFor("[cpu]"), [undefined, undefined]);
});
