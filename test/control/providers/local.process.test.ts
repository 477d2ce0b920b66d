import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pino } from "pino";
import { findGroupPlaces } from "../../../agent/control-groups.ts";
import { endTree } from "../../../common/end-processes.ts";
import { findBearers, findProcess } from "../../../common/process-tree.ts";
import { readConfig } from "../../../control/config.ts";
import { listNodeGroups } from "../../../control/doors/node-groups.ts";
import { localProvider } from "../../../control/providers/local.ts";
import {
  agentClient,
  aNode,
  aSubmission,
  nodeTree,
  startProcess,
  until,
} from "../../helpers/agent.ts";
import { aCluster } from "../../helpers/clusters.ts";

/** This machine as a cloud, its nodes in a home of their own. */
function aProvider(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const home = mkdtempSync(join(tmpdir(), "local-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const logged: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void logged.push(line) });
  const config = readConfig({ OUTRIGGER_HOME: home, ...settings });
  return { home, logged, provider: localProvider(config, log) };
}

test("this machine takes no new clusters where its setting is off", async (t) => {
  const { provider } = aProvider(t, { OUTRIGGER_LOCAL: "off" });

  assert.deepEqual([await provider.offers({}, t.signal), await provider.places?.()], [[], []]);
  assert.match(provider.refusal?.({ infra: "local" }) ?? "", /OUTRIGGER_LOCAL is off/);
  assert.equal(provider.refusal?.({}), undefined, "others may have what is asked for");
});

test("an agent that cannot be started is logged, and control goes on", async (t) => {
  const { provider, logged } = aProvider(t);
  const { execPath } = process;
  t.after(() => {
    process.execPath = execPath;
  });
  process.execPath = "/nowhere/node";

  await provider.create(aCluster(), 0, t.signal);

  const [line] = await until(() => {
    const lines = logged.filter((one) => one.includes("agent not started"));
    return lines.length > 0 ? lines : undefined;
  });
  assert.match(line ?? "", /ENOENT/);
});

test("whatever this machine refuses is an error of the cloud", async (t) => {
  const { provider, home } = aProvider(t);
  writeFileSync(join(home, "nodes"), "not a folder");

  const error = { name: "CloudError", message: /^this machine is not available now: E\w+: / };
  await assert.rejects(provider.create(aCluster(), 0, t.signal), error);
  await assert.rejects(provider.list(aCluster(), t.signal), error);
});

test("a node that turns itself off by the command it was given counts as stopped", async (t) => {
  const { provider, home } = aProvider(t);
  const cluster = aCluster();
  const node = join(home, "nodes", `${cluster.id}-0`);
  t.after(async () => void (await endTree(nodeTree(node), 0)));
  await provider.create(cluster, 0, t.signal);
  const given = await until(() => settingsOf(node));
  await provider.endAgent?.(`${cluster.id}-0`, t.signal);
  assert.deepEqual([given["OUTRIGGER_ON_TERM"], given["OUTRIGGER_NOTICES"]], ["leave", "none"]);

  await startProcess(node, { ...given, OUTRIGGER_SELF_STOP_AFTER_SECONDS: "0" });
  const door = provider.door(`${cluster.id}-0`);
  t.after(() => door.destroy());
  const body = JSON.stringify({ idleMs: 100, waitFor: "jobs" });
  await door.request({ method: "PUT", path: "/autostop", body });

  const stateOf = async () => (await provider.list(cluster, t.signal))[0]?.state;
  await until(async () => (await stateOf()) === "stopped" || undefined);
  await until(() => findBearers(`HOME=${node}`).length === 0 || undefined);
});

test("a node that is taken away is gone at once, and only then made anew", async (t) => {
  const { provider, home } = aProvider(t);
  const cluster = aCluster();
  const id = `${cluster.id}-0`;
  const node = join(home, "nodes", id);
  t.after(async () => void (await endTree(nodeTree(node), 0)));
  await provider.create(cluster, 0, t.signal);
  const agent = agentClient(t, join(node, ".outrigger/agent/agent.sock"));
  await until(() => agent.call("configure", aNode()).catch(() => undefined));
  await agent.call("submit", aSubmission("trap '' TERM; touch ~/began; sleep 1000 & wait"));
  await until(() => existsSync(join(node, "began")) || undefined);

  const going = provider.takeAway?.(id, t.signal);
  const seen = await provider.list(cluster, t.signal);
  await provider.create(cluster, 0, t.signal);
  const { began, home: isThere } = {
    began: existsSync(join(node, "began")),
    home: existsSync(node),
  };
  await going;

  assert.deepEqual([seen, began, isThere], [[], false, true]);
  assert.deepEqual(
    (await provider.list(cluster, t.signal)).map(({ rank }) => rank),
    [0],
  );
});

test("what hides from everything but its control group ends with its node", {
  skip: findGroupPlaces().length === 0 && "this account may make no control groups here",
}, async (t) => {
  const { provider, home } = aProvider(t);
  const cluster = aCluster();
  const id = `${cluster.id}-0`;
  const node = join(home, "nodes", id);
  await provider.create(cluster, 0, t.signal);
  const agent = agentClient(t, join(node, ".outrigger/agent/agent.sock"));
  const hides = join(import.meta.dirname, "../../fixtures/hides");
  await until(() => agent.call("configure", aNode()).catch(() => undefined));
  await agent.call("submit", aSubmission(`${hides} ~/hidden; sleep 1000`));
  const hidden = join(node, "hidden");
  const pid = await until(() => (existsSync(hidden) && Number(readFileSync(hidden))) || undefined);
  const groups = listNodeGroups(node);
  await provider.endAgent?.(id, t.signal);

  await provider.destroy(id, t.signal);

  assert.notEqual(findProcess(pid)?.alive, true);
  assert.ok(groups.length > 0);
  assert.deepEqual(groups.filter(existsSync), []);
});

/** The settings of the agent that serves a node. */
function settingsOf(node: string): Record<string, string> | undefined {
  const [agent] = findBearers(`HOME=${node}`);
  if (agent === undefined) return undefined;
  const variables = readFileSync(`/proc/${agent.pid}/environ`, "utf8").split("\0");
  const pairs = variables.map((one) => one.split(/=(.*)/s, 2) as [string, string]);
  return Object.fromEntries(pairs.filter(([name]) => name.startsWith("OUTRIGGER_")));
}

test("a machine that cannot mount buckets or run containers refuses tasks that need it, and says what to install", () => {
  const config = readConfig({ OUTRIGGER_HOME: "/none", PATH: "/none" });
  const { refusal } = localProvider(config, pino({ level: "silent" }));

  assert.match(
    refusal?.({ mounts: true }) ?? "",
    /^buckets cannot be mounted on this machine: (neither rclone|\/dev\/fuse is missing)/,
  );
  assert.equal(refusal?.({ mounts: true, infra: "ssh/lab" }), undefined);
  assert.match(refusal?.({ container: true }) ?? "", /^this machine runs no containers: install/);
});

test("a machine whose docker is rootless refuses containers whose ports are reached", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "rootless-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ["docker", "docker.sock", "podman"])
    writeFileSync(join(folder, name), "", { mode: 0o755 });
  const host = { DOCKER_HOST: `unix://${folder}/docker.sock`, XDG_RUNTIME_DIR: folder };
  const config = readConfig({ OUTRIGGER_HOME: "/none", PATH: folder, ...host });
  const { refusal } = localProvider(config, pino({ level: "silent" }));

  const reached = { container: true, reached: true } as const;
  assert.match(refusal?.(reached) ?? "", /^its ports cannot be reached: .* stop it .* use podman/);
  assert.equal(refusal?.({ container: true, nodes: 2 }), undefined);
  assert.equal(refusal?.({ reached: true }), undefined);
  // What its end leaves.
  rmSync(join(folder, "docker.sock"));
  assert.equal(refusal?.(reached), undefined);
});

const noFuse = !existsSync("/dev/fuse") && "this machine has no /dev/fuse";

test("a machine that has only mount-s3 refuses to write to a store other than Amazon S3", {
  skip: noFuse,
}, (t) => {
  const { home } = aProvider(t);
  for (const name of ["mount-s3", "fusermount3"])
    writeFileSync(join(home, name), "", { mode: 0o755 });
  const refusalAt = (endpoint: string) => {
    const env = { OUTRIGGER_HOME: home, PATH: home, OUTRIGGER_S3_ENDPOINT: endpoint };
    return localProvider(readConfig(env), pino({ level: "silent" })).refusal;
  };
  const amazon = refusalAt("https://s3.{region}.amazonaws.com");

  assert.equal(amazon?.({ mounts: "writes to S3" }), undefined);
  assert.match(amazon?.({ mounts: "rclone" }) ?? "", /mount-s3 has no MOUNT_CACHED/);
  const elsewhere = refusalAt("http://127.0.0.1:9000");
  assert.equal(elsewhere?.({ mounts: true }), undefined);
  assert.match(elsewhere?.({ mounts: "writes to S3" }) ?? "", /can write only to Amazon S3/);
});

const noMounts = process.getuid?.() !== 0 && "only root may mount a folder";

test("to delete a node deletes nothing of what is mounted there", { skip: noMounts }, async (t) => {
  const { home, provider } = aProvider(t);
  const node = join(home, "nodes", "c-0");
  const outside = join(home, "outside");
  for (const folder of [outside, join(node, "set")]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(outside, "kept"), "");
  execFileSync("mount", ["--bind", outside, join(node, "set")]);

  await provider.destroy("c-0", t.signal);

  assert.ok(!existsSync(node));
  assert.ok(existsSync(join(outside, "kept")));
});
