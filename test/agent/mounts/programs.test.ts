import assert from "node:assert/strict";
import { test } from "node:test";
import { lastLineIn } from "../../../agent/mounts/mount.ts";
import { commands } from "../../../agent/mounts/programs.ts";
import type { MountOrder } from "../../../contract/mounts-api.ts";

const places = { root: "/set", cache: "/cache", home: "/home/me" };
const order: MountOrder = {
  ...{ destination: "~/set", name: "s3://data", bucket: "data", region: "us-east-1" },
  ...{ endpoint: "https://s3.us-east-1.amazonaws.com", keys: null, readOnly: false, cache: null },
};

test("mount-s3 gets its keys in variables, and writes only where it may", () => {
  const keys = { id: "AK", secret: "hidden" };
  const shared = "data /set --foreground --endpoint-url";
  const amazon = `${shared} https://s3.us-east-1.amazonaws.com --region us-east-1`;
  const endpoint = "http://store:9000";

  const written = commands["mount-s3"]({ ...order, keys }, places);
  const read = commands["mount-s3"]({ ...order, endpoint, readOnly: true }, places);

  assert.equal(written.args.join(" "), `${amazon} --allow-delete --allow-overwrite`);
  assert.deepEqual(written.env, { AWS_ACCESS_KEY_ID: "AK", AWS_SECRET_ACCESS_KEY: "hidden" });
  assert.equal(
    read.args.join(" "),
    `${shared} ${endpoint} --region us-east-1 --force-path-style --no-sign-request --read-only`,
  );
});

for (const [log, line] of [
  ["2026/01/02 03:04:05 Failed to create file system\n\n", "Failed to create file system"],
  ["Error: Failed to mount\n\nCaused by:\n    Forbidden: no\n", "Forbidden: no"],
  ["Error: Failed to mount\n\nCaused by:\n    0: no\n    1: no bucket\n", "no bucket"],
] as const)
  test(`a program that fails says why: ${line}`, () => {
    assert.equal(lastLineIn(log), line);
  });
