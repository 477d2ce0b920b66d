import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config } from "../../../agent/config.ts";
import { isShared } from "../../../agent/containers/binds.ts";
import { enterContainer } from "../../../agent/containers/enter.ts";
import { gpuWords } from "../../../agent/containers/words.ts";
import type { Engine } from "../../../common/containers.ts";

const engine = (name: Engine["name"]) => ({ name, file: `/usr/bin/${name}`, env: {} });

test("the accelerators of a node are passed as each program takes them", () => {
  const nvidia = (path: string) => path === "/dev/nvidiactl";
  assert.deepEqual(gpuWords(engine("docker"), nvidia), ["--gpus", "all"]);
  assert.deepEqual(gpuWords(engine("podman"), nvidia), ["--device", "nvidia.com/gpu=all"]);
  assert.deepEqual(gpuWords(engine("apptainer"), nvidia), ["--nv"]);
  const amd = ["--device", "/dev/kfd", "--device", "/dev/dri"];
  assert.deepEqual(
    gpuWords(engine("podman"), (path) => amd.includes(path)),
    amd,
  );
  assert.deepEqual(
    gpuWords(engine("docker"), () => false),
    [],
  );
});

test("scripts in an image see the variables of Slurm that their task sets, and not those of the allocation", () => {
  const baseEnv = { PATH: "/bin", SLURM_JOB_ID: "7", SLURM_CPUS_PER_TASK: "8" };
  const config = { baseEnv, agentFolder: "/agent" } as unknown as Config;
  const env = { ...baseEnv, SLURM_CPUS_PER_TASK: "2", A: "1" };
  for (const name of ["podman", "apptainer"] as const) {
    const container = { engine: engine(name), id: "c" };
    const entered = enterContainer({ config }, container, { env, workdir: "/" });
    assert.deepEqual(entered.env, { SLURM_CPUS_PER_TASK: "2", A: "1" });
  }
});

test("what is mounted later is passed on from below a shared mount, and only from there", () => {
  const mounts = [
    "22 1 8:1 / / rw,relatime - ext4 /dev/sda rw",
    "30 22 0:26 / /home rw shared:7 - ext4 /dev/sdb rw",
    "31 30 0:27 / /home/ana/private rw - tmpfs tmpfs rw",
  ].join("\n");
  const shared = ["/srv", "/home/ana", "/homework", "/home/ana/private/x"].map((path) =>
    isShared(mounts, path),
  );
  assert.deepEqual(shared, [false, true, false, false]);
});
