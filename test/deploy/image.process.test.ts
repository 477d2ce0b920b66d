import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { makeRoot, startEngine, whyNoEngine } from "../helpers/engines.ts";
import { claimPorts } from "../helpers/ports.ts";

const root = join(import.meta.dirname, "../..");

test("the image of control is built without a daemon, and its control plane answers", {
  skip: whyNoEngine("podman"),
  timeout: 180_000,
}, async (t) => {
  const { run } = await startEngine(t, "podman");
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // What a build would fetch is not needed to start.
  const programs = {
    "/usr/local/bin/node": process.execPath,
    "/usr/local/bin/apt-get": "/bin/true",
    "/usr/local/bin/install": "/usr/bin/install",
  };
  const archive = makeRoot(folder, programs);
  await run("import", archive, "lab/base:1");

  execFileSync(process.execPath, ["bin/bundle.ts", "--out", join(folder, "dist")], { cwd: root });
  for (const file of ["bin/outrigger", "package.json"])
    cpSync(join(root, file), join(folder, file));
  const containerfile = join(root, "deploy/Containerfile");
  const words = ["--build-arg=BASE=localhost/lab/base:1", "--tag=lab/control:1", folder];
  await run("build", `--file=${containerfile}`, ...words);

  const { document: port } = await claimPorts(t);
  await run("run", "-d", "--network=host", "-e", `OUTRIGGER_PORT=${port}`, "lab/control:1");
  const ask = () => fetch(`http://127.0.0.1:${port}/api/health`).catch(() => undefined);
  const answer = await until(ask);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /healthy/);
});
