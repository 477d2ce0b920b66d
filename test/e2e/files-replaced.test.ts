import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { until } from "../helpers/agent.ts";
import { freezeAgent, kill, processesOf, startControl } from "../helpers/programs.ts";
import { hookedCluster } from "./hooked.ts";

/** Two nodes with files that both have changed since, and a job on both that waits for the only GPU. */
async function openTwo(t: TestContext) {
  const control = await startControl(t, { env: { OUTRIGGER_LOCAL_ACCELERATORS: "H100:1" } });
  const two = hookedCluster(control, "two");
  const write = (name: string, text: string) => writeFileSync(join(control.home, name), text);
  const cli = async (...words: string[]) => {
    const { code, stderr } = await control.cli(...words);
    assert.equal(code, 0, stderr);
  };
  const ofBoth = { num_nodes: 2, resources: { accelerators: "H100:1" } };
  mkdirSync(join(control.home, "project"));
  write("project/first", "");
  write("mounted", "mounted\n");
  const brings = { ...ofBoth, workdir: "project", file_mounts: { "~/m/x": "mounted" } };
  write("task.yaml", JSON.stringify({ ...brings, run: "true" }));
  await cli("launch", "-c", "two", "task.yaml");
  write("project/second", "of exec\n");
  await cli(
    "exec",
    "two",
    "--num-nodes",
    "2",
    "--workdir",
    "project",
    "rm second; echo by a job > first",
  );
  const runs = join(control.home, "runs");
  await two.exec(
    JSON.stringify({ ...ofBoth, run: `touch ${runs}.$OUTRIGGER_NODE_RANK; sleep 1000` }),
  );
  // One that has not begun on a node goes on with the next one.
  await until(() => [0, 1].every((rank) => existsSync(`${runs}.${rank}`)) || undefined);
  const run = "echo $OUTRIGGER_NODE_RANK $(ls) $(cat first) $(cat ~/m/x)";
  const waiting = await two.exec(JSON.stringify({ ...ofBoth, run }));
  return { control, two, waiting, head: await two.nodeHome(0), worker: await two.nodeHome(1) };
}

/** Ends everything on a node and takes its folder away. */
async function lose(node: string, to: string): Promise<void> {
  const processes = processesOf(`HOME=${node}\0`);
  renameSync(node, to);
  for (const { pid } of processes) kill(pid);
  const isOld = ({ pid }: { pid: number }) => processes.some((process) => process.pid === pid);
  await until(() => !processesOf(`HOME=${node}\0`).some(isOld) || undefined);
}

for (const isKilled of [false, true]) {
  const meanwhile = isKilled ? ", although control is killed once the node is there" : "";
  test(`a node that is replaced has its files before a job starts on it${meanwhile}`, {
    timeout: 300_000,
  }, async (t) => {
    const { control, two, waiting, head, worker } = await openTwo(t);

    await lose(worker, join(control.home, "gone"));
    if (isKilled) {
      const thaw = await freezeAgent(worker);
      await control.end("SIGKILL");
      thaw();
      await control.start();
    }
    // It is INIT before the node is there.
    await until(() => existsSync(worker) || undefined);
    await two.untilStatus("UP");
    const { code, text } = await two.follow(waiting);

    assert.equal(code, 0, text);
    assert.match(text, /rank=1\) 1 first second mounted$/m);
    assert.match(text, /rank=0\) 0 first by a job mounted$/m);
    assert.equal(readFileSync(join(head, "outrigger_workdir/first"), "utf8"), "by a job\n");
    await two.down();
  });
}
