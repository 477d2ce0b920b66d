import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Call } from "../../../../control/bind.ts";
import { openManifest, writeManifest } from "../../../../control/buckets/manifest.ts";
import { readCargo } from "../../../../control/clusters/files/cargo.ts";
import type { Context } from "../../../../control/context.ts";
import type { Agent } from "../../../../control/doors/agent.ts";
import { readTask } from "../../../../control/task.ts";
import { sha256Of } from "../../../helpers/files.ts";

test("a workdir that came as a file reaches no node, where it would be in the way of every job", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "cargo-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const place = { mode: 0o600, size: 1, sha256: sha256Of("x") };
  await writeManifest(join(folder, "m"), [{ kind: "file", path: "w", ...place }]);
  const ctx = { uploads: { open: () => openManifest(join(folder, "m")) } } as unknown as Context;
  const call = { user: { id: "u1", name: "ana" } } as Call;
  const cargoOf = (what: string) => {
    const text = `${what}\nfile_mounts_mapping: { /w: /w }\nrun: x\n`;
    const task = readTask(text, "launch");
    return readCargo(ctx, task, { file_mounts_blob_id: "b" }, "all", call);
  };

  await assert.rejects(cargoOf("workdir: /w"), { name: "ValueError", message: /is not a folder/ });
  const [mount] = await cargoOf("file_mounts: { ~/w: /w }");
  assert.ok(mount !== undefined && "open" in mount);
  const load = await mount.open({} as Agent, new AbortController().signal);
  assert.equal(load.entries[0]?.kind, "file");
});
