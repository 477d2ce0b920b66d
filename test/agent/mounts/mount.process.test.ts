import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { listMountsOf } from "../../../common/mounts.ts";
import type { MountOrder } from "../../../contract/mounts-api.ts";
import { startAgent, until } from "../../helpers/agent.ts";
import { bring } from "../../helpers/files.ts";
import { unmountAll, whyNoFuse } from "../../helpers/fuse.ts";

const skip = whyNoFuse;
const skipMounting = skip || (process.getuid?.() !== 0 && "mounting needs root");
const order: MountOrder = {
  ...{ destination: "~/set", name: "s3://data", bucket: "data", endpoint: "http://127.0.0.1:1" },
  ...{ region: "us-east-1", keys: null, readOnly: false, cache: null },
};

/** The environment of an agent that finds this script in place of rclone. */
function rcloneAs(t: TestContext, script: string): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "programs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "rclone"), script, { mode: 0o755 });
  return { PATH: `${folder}:${process.env["PATH"]}` };
}

test("a program that cannot be started is reported", { skip }, async (t) => {
  const agent = await startAgent(t, { env: rcloneAs(t, "#!/nowhere/sh\n") });

  await assert.rejects(agent.call("putMount", order), {
    name: "StorageError",
    message: /rclone cannot be started/,
  });

  assert.deepEqual(await agent.call("listMounts", {}), []);
});

test("a program that traces its error back is quoted with the first cause", { skip }, async (t) => {
  const said =
    "Error: Failed to create S3 client\n\nCaused by:\n    0: Client error\n    1: Forbidden";
  const env = rcloneAs(t, `#!/bin/sh\necho '${said}' >&2; exit 1\n`);
  const agent = await startAgent(t, { env });

  await assert.rejects(agent.call("putMount", order), {
    message: /cannot be mounted .*: Forbidden$/,
  });
});

test("a mount of the user's whose program died breaks no delivery of files around it", {
  skip,
}, async (t) => {
  const agent = await startAgent(t);
  const folder = join(agent.home, "out");
  await bring(agent, "~/out", { "d/x": "x", "a.txt": "a" });
  const server = spawn("rclone", [
    "mount",
    `:local:${agent.home}`,
    join(folder, "d"),
    "--allow-non-empty",
  ]);
  const ended = once(server, "exit");
  t.after(() => unmountAll(agent.home));
  await until(() => listMountsOf(agent.home)[0]);
  server.kill("SIGKILL");
  await ended;
  assert.throws(() => statSync(join(folder, "d")), { code: "ENOTCONN" });

  const { last } = await bring(agent, "~/out", { "a.txt": "new" });

  assert.deepEqual(last.missing, []);
  assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "new");
  await assert.rejects(bring(agent, "~/out", { "d/y": "y" }), {
    name: "ConflictError",
    message: /d.* is a mount here whose program has ended; unmount it/,
  });
});

/** Mounts memory in place of a bucket. */
const memoryAs = (device: string) => `#!/bin/sh
if [ "$1" != mount ]; then echo rclone v1; exit; fi
mount -t tmpfs ${device} "$3" && exec sleep 1000
`;
const memory = memoryAs('"$7"');

test("a home that is reached through a link has mounts, and none is left in it", {
  skip: skipMounting,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "linked-"));
  mkdirSync(join(folder, "real/outrigger_workdir"), { recursive: true });
  symlinkSync("real", join(folder, "home"));
  const home = join(folder, "home");
  const agent = await startAgent(t, { home, env: rcloneAs(t, memory) });
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "own"));
  symlinkSync("../own", join(folder, "real/link"));

  assert.equal((await agent.call("putMount", order)).problem, null);

  const paths = () => listMountsOf(home).map(({ path }) => path);
  assert.deepEqual(paths(), [join(folder, "real/set")]);
  await assert.rejects(agent.call("putMount", { ...order, destination: "~/link" }), {
    name: "ConflictError",
    message: /real\/link is a link here; use the path that it leads to$/,
  });
  await agent.call("putMount", { ...order, destination: "~/link/set" });
  assert.deepEqual(paths(), [join(folder, "own/set"), join(folder, "real/set")]);
  execFileSync("mount", ["-t", "tmpfs", "job", join(home, "outrigger_workdir")]);
  assert.equal(paths()[0], join(folder, "real/outrigger_workdir"));
});

test("nodes of one machine do not take each other's mounts away", {
  skip: skipMounting,
}, async (t) => {
  const env = rcloneAs(t, memoryAs("mountpoint-s3"));
  const [one, other] = [await startAgent(t, { env }), await startAgent(t, { env })];
  const destination = join(one.home, "shared");
  await one.call("putMount", { ...order, destination });

  await assert.rejects(other.call("putMount", { ...order, destination }), {
    name: "ConflictError",
    message: /shared is mounted already, by another node or user/,
  });

  assert.equal((await one.call("listMounts", {}))[0]?.problem, null);
  await one.call("putMount", { ...order, destination, readOnly: true });
});
