import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { localOperations as rows } from "../../contract/operations/local.ts";
import { until } from "../helpers/agent.ts";
import { startEngine, whyNoEngine } from "../helpers/engines.ts";
import { testWorld } from "../helpers/world.ts";

/** A program that keeps clusters as `kind` does, as files, and what it was asked for. */
const kind = `#!/bin/sh
cd "\${0%/*}" || exit
echo "$*" >> asked
case $1-$2 in
get-clusters) ls clusters; [ -n "$(ls clusters)" ] || echo 'No kind clusters found.' >&2 ;;
create-cluster)
  echo "$KIND_EXPERIMENTAL_PROVIDER" > engine
  touch "clusters/$4"
  cat > config.json
  echo " ✓ Preparing nodes" >&2
  if [ -e hangs ]; then exec sleep 1000; fi
  if [ -e fails ]; then echo 'ERROR: port is already allocated' >&2; exit 1; fi ;;
delete-cluster) rm "clusters/$4"; echo "Deleted nodes" >&2 ;;
esac
`;

/** A world whose machine has kind, engines, and the programs of the folders in `places`. */
async function withKind(
  t: TestContext,
  engines = ["podman", "apptainer"],
  places = (process.env["PATH"] ?? "").split(":"),
) {
  const folder = mkdtempSync(join(tmpdir(), "kind-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "clusters"));
  writeFileSync(join(folder, "kind"), kind, { mode: 0o755 });
  for (const name of engines) writeFileSync(join(folder, name), "", { mode: 0o755 });
  const nodeEnv = { PATH: [folder, ...places].join(":"), DOCKER_HOST: "unix:///nowhere" };
  const world = await testWorld(t, { mayFail: true, config: { nodeEnv } });
  const asked = () => readFileSync(join(folder, "asked"), "utf8").trim().split("\n");
  return { world, folder, asked };
}

test("a local Kubernetes is made once, with the nodes and ports asked for, and removed", async (t) => {
  const { world, folder, asked } = await withKind(t);
  const { kubeconfig } = world.ctx.config;

  const id = await world.call(rows.up, { num_nodes: 2, port_start: 4_000 });
  await world.get(rows.up, id);
  await world.run(rows.up, {});

  const create = "create cluster --name outrigger --wait 5m --config -";
  const made = asked().filter((line) => line.startsWith("create"));
  assert.deepEqual(made, [`${create} --kubeconfig ${kubeconfig}`]);
  const { nodes } = JSON.parse(readFileSync(join(folder, "config.json"), "utf8"));
  assert.deepEqual([nodes[0].role, nodes[1].role, nodes.length], ["control-plane", "worker", 2]);
  const mappings = nodes[0].extraPortMappings;
  const first = { containerPort: 30_000, hostPort: 4_000, listenAddress: "127.0.0.1" };
  assert.deepEqual([mappings[0], mappings.length], [first, 100]);
  assert.equal(readFileSync(join(folder, "engine"), "utf8"), "podman\n");
  assert.match(await world.printed(id), /Preparing nodes\n[\s\S]*--infra k8s\/kind-outrigger\n/);

  await world.run(rows.down, {});
  assert.equal(existsSync(join(folder, "clusters/outrigger")), false);
  const again = await world.call(rows.down, {});
  await world.get(rows.down, again);
  assert.match(await world.printed(again), /kind has no cluster outrigger\n/);
});

test("one that control's end interrupted is made anew", async (t) => {
  const { world, folder, asked } = await withKind(t);
  writeFileSync(join(folder, "hangs"), "");
  const id = await world.call(rows.up, { name: "half" });
  await until(() => existsSync(join(folder, "clusters/half")) || undefined);
  const after = await world.crash();
  writeFileSync(join(folder, "asked"), "");
  rmSync(join(folder, "hangs"));

  await after.get(rows.up, id);

  assert.deepEqual(
    asked().map((line) => line.split(" ")[0]),
    ["get", "delete", "create"],
  );
});

test("what kind refuses is told in its words, and what it cannot be asked is refused before", async (t) => {
  const { world, folder } = await withKind(t);
  writeFileSync(join(folder, "fails"), "");

  await assert.rejects(world.run(rows.up, {}), {
    message: "kind create cluster: ERROR: port is already allocated",
  });
  for (const input of [{ name: "-x" }, { num_nodes: 0 }, { port_start: 65_500 }])
    await assert.rejects(world.run(rows.up, input), { type: "ValueError" });
});

test("a machine without kind is told what to install", async (t) => {
  const world = await testWorld(t, { mayFail: true });

  await assert.rejects(world.run(rows.up, {}), {
    message: /^control has no kind.* install it there, or point the kubeconfig/,
  });
});

test("a machine that has Apptainer alone is told to install docker or podman", async (t) => {
  const { world } = await withKind(t, ["apptainer"], []);

  await assert.rejects(world.run(rows.up, {}), {
    message: /^control has no docker or podman on its machine that it can use; install it there/,
  });
});

const places = [...(process.env["PATH"] ?? "").split(":"), join(homedir(), "go/bin")];
const kindFolder = places.find((place) => existsSync(join(place, "kind")));
const noKind = !kindFolder && "needs kind: go install sigs.k8s.io/kind@v0.30.0";

test("what the real kind cannot do is told, and nothing is left of it", {
  skip: noKind || whyNoEngine("podman"),
  timeout: 180_000,
}, async (t) => {
  // No image is pulled where a registry could be reached, either.
  const proxy = { HTTPS_PROXY: "http://127.0.0.1:9" };
  const { env, run } = await startEngine(t, "podman");
  const PATH = `${kindFolder}:${process.env["PATH"]}`;
  const world = await testWorld(t, {
    mayFail: true,
    config: { nodeEnv: { ...env, ...proxy, PATH } },
  });

  await world.run(rows.down, {});
  const id = await world.call(rows.up, { num_nodes: 2 });
  await assert.rejects(world.get(rows.up, id), {
    message: /^kind create cluster: ERROR: .*failed to pull image "\S*kindest\/node.*; [^;]+$/,
  });
  assert.match(await world.printed(id), /^made by kind with podman\n/);
  assert.equal(await run("ps", "--all", "--quiet"), "");
  assert.equal(existsSync(world.ctx.config.kubeconfig), false);
});
