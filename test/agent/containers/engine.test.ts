import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "../../../agent/config.ts";
import { anyEngineOf, engineOf, saveSettings } from "../../../agent/containers/engine.ts";

test("a node stays with the program that has its container, until a launch finds it gone", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "engine-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const install = (name: string) => writeFileSync(join(folder, name), "", { mode: 0o755 });
  const env = { HOME: folder, PATH: folder, DOCKER_HOST: "unix:///nowhere" };
  const config = { ...readConfig(env), agentFolder: folder };
  install("apptainer");
  assert.equal(engineOf({ config }).name, "apptainer");
  const settings = { clusterId: "c0ffee", image: "lab/busy:1", runOptions: [] };
  saveSettings({ config }, settings, engineOf({ config }));

  install("podman");
  assert.equal(engineOf({ config }).name, "apptainer");

  rmSync(join(folder, "apptainer"));
  assert.throws(() => engineOf({ config }), /its container is in apptainer: install/);
  assert.equal(anyEngineOf({ config }).name, "podman");
});
