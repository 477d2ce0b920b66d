import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { MountOrder } from "../../../contract/mounts-api.ts";
import { startAgent } from "../../helpers/agent.ts";
import { whyNoFuse } from "../../helpers/fuse.ts";

const skip = whyNoFuse;
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
