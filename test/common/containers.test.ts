import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findEngine } from "../../common/containers.ts";

const folder = mkdtempSync(join(tmpdir(), "programs-"));
after(() => rmSync(folder, { recursive: true }));
const socket = `unix://${join(folder, "docker.sock")}`;
const nobody = { DOCKER_HOST: "unix:///nowhere" };
const user = { uid: 1000, name: "ana", home: "/home/ana", shell: "/bin/sh" };
const idsFile = join(folder, "subuid");

function install(name: string): void {
  writeFileSync(join(folder, name), "");
  chmodSync(join(folder, name), 0o755);
}

test("docker is taken where its daemon can be used, then podman that is set up, then Apptainer", () => {
  assert.equal(findEngine(nobody, folder), undefined);
  install("docker");
  assert.equal(findEngine(nobody, folder), undefined);
  install("singularity");
  assert.equal(findEngine(nobody, folder)?.name, "apptainer");
  for (const name of ["podman", "crun"]) install(name);
  const found = (one = user) => findEngine(nobody, folder, undefined, one, idsFile)?.name;
  assert.deepEqual([found(), found({ ...user, uid: 0 })], ["apptainer", "podman"]);
  for (const [ids, engine] of [
    ["bob:100000:65536\n", "apptainer"],
    ["bob:100000:65536\nana:165536:65536\n", "podman"],
    ["1000:100000:65536\n", "podman"],
  ] as const) {
    writeFileSync(idsFile, ids);
    assert.equal(found(), engine, ids);
  }
  assert.equal(findEngine(nobody, folder, "apptainer")?.name, "apptainer");
  assert.equal(findEngine(nobody, folder, "docker"), undefined);
  writeFileSync(join(folder, "docker.sock"), "");
  assert.equal(findEngine({ DOCKER_HOST: socket }, folder, "podman")?.name, "podman");
  const { name, env } = findEngine({ DOCKER_HOST: socket, SECRET: "s" }, folder) ?? {};
  assert.deepEqual([name, env?.["DOCKER_HOST"], env?.["SECRET"]], ["docker", socket, undefined]);
  const isRootless = (runtime: string) =>
    findEngine({ DOCKER_HOST: socket, XDG_RUNTIME_DIR: runtime }, folder)?.isRootlessDocker;
  assert.deepEqual([folder, "/elsewhere"].map(isRootless), [true, undefined]);
});
