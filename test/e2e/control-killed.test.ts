import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RequestId } from "../../client/sdk.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import {
  findAgent,
  listNodeHomes,
  processesOf,
  startControl,
  type TestControl,
} from "../helpers/programs.ts";
import { aTask, clusterOf, type TestCluster } from "./cluster.ts";
import { openGate } from "./gate.ts";

test("control is killed in the middle of a launch", { timeout: 30_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;
  const launch = (name: string) =>
    client.call(rows.launch, { cluster_name: name, task: aTask(marks(home, name)) });

  await t.test("once the request is stored", async () => {
    const { job_id: id } = await killDuring(control, await launch("stored"));
    await assertRanOnce(control, clusterOf(control, "stored"), id, [1]);
  });
  await t.test("once the node is created", async () => {
    const before = listNodeHomes(home);
    const request = await launch("created");
    const node = await until(() => listNodeHomes(home).find((one) => !before.includes(one)));
    const thaw = await freezeAgent(node);
    const { job_id: id } = await killDuring(control, request, thaw);
    await assertRanOnce(control, clusterOf(control, "created"), id, [1]);
  });
  assert.equal(listNodeHomes(home).length, 2);
});

test("control is killed once the agent has accepted a job", { timeout: 30_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;
  const cluster = clusterOf(control, "demo");
  await cluster.launch(aTask("true"));
  const [node = ""] = listNodeHomes(home);

  for (const name of ["launch", "exec"] as const)
    await t.test(`of ${name}`, async () => {
      await control.end("SIGKILL");
      const gate = await openGate(node);
      await control.start();
      const input = { cluster_name: "demo", task: aTask(marks(home, "demo")) };
      const request = await client.call(rows[name], input);
      await gate.accepted;
      const { job_id: id } = await killDuring(control, request, gate.close);
      await assertRanOnce(control, cluster, id, name === "launch" ? [2, 1] : [3, 2, 1]);
    });
});

test("control is killed while a stopped cluster comes back", { timeout: 30_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;
  const cluster = clusterOf(control, "demo");
  await cluster.launch(aTask("true"));
  const [node = ""] = listNodeHomes(home);

  await t.test("for a launch", async () => {
    await cluster.stop();
    const input = { cluster_name: "demo", task: aTask(marks(home, "demo")) };
    const request = await client.call(rows.launch, input);
    const { job_id: id } = await killDuring(control, request, await freezeAgent(node));
    await assertRanOnce(control, cluster, id, [2, 1]);
  });
  await t.test("for a start", async () => {
    await cluster.stop();
    const request = await client.call(rows.start, { cluster_name: "demo" });
    await killDuring(control, request, await freezeAgent(node));
    assert.equal(await cluster.status(), "UP");
    assert.equal((await cluster.follow(await cluster.exec(aTask("true")))).code, 0);
  });
  assert.deepEqual(listNodeHomes(home), [node]);
});

test("control is killed while nodes go", { timeout: 30_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const { home, client } = control;
  const asked = join(home, "asked");
  const slow = `trap "touch ${asked}; sleep 1" TERM; touch ~/kept; sleep 987 & wait; wait`;

  async function killOnceAsked(name: "stop" | "down") {
    const request = await client.call(rows[name], { cluster_name: "demo" });
    await until(() => existsSync(asked) || undefined);
    assert.equal(await killDuring(control, request), null);
    assert.deepEqual(
      processesOf(home).map(({ pid }) => pid),
      [control.pid],
    );
  }

  await t.test("on their way off", async () => {
    await cluster.untilJob(await cluster.launch(aTask(slow)), "RUNNING");
    await killOnceAsked("stop");
    assert.equal(await cluster.status(), "STOPPED");
    assert.ok(existsSync(join(listNodeHomes(home)[0] ?? "", "kept")));
  });
  await t.test("on their way to be deleted", async () => {
    await cluster.untilJob(await cluster.launch(aTask(`rm ${asked}; ${slow}`)), "RUNNING");
    await until(() => !existsSync(asked) || undefined);
    await killOnceAsked("down");
    assert.equal(await cluster.status(), undefined);
    assert.deepEqual(listNodeHomes(home), []);
  });
});

/** The result of a request under which control is killed and, after `between`, started again. */
async function killDuring<T>(
  control: TestControl,
  id: RequestId<T>,
  between = () => {},
): Promise<T> {
  await control.end("SIGKILL");
  const killedAt = Date.now() / 1_000;
  between();
  await control.start();
  const result = await control.client.get(id);
  const query = { request_id: id };
  const record = await control.client.read<{ finished_at: number }>("/api/get", query);
  assert.ok(record.finished_at > killedAt, "the request was over before control was killed");
  return result;
}

/** Holds a node's new agent still before anybody can reach it; lets it go again when called. */
async function freezeAgent(node: string): Promise<() => void> {
  const pid = await until(() => findAgent(node));
  process.kill(pid, "SIGSTOP");
  return () => process.kill(pid, "SIGCONT");
}

const fileOf = (home: string, name: string) => join(home, `${name}.ran`);

/** A script that leaves a line for each time that it runs. */
const marks = (home: string, name: string) => `echo ran >> ${fileOf(home, name)}; echo done`;

/** The job is the last of these jobs, and ran once since this was asked before. */
async function assertRanOnce(
  { home }: TestControl,
  cluster: TestCluster,
  id: number | null,
  jobs: number[],
): Promise<void> {
  assert.equal(id, jobs[0]);
  assert.deepEqual(await cluster.follow(id ?? 0), { code: 0, text: "done\n" });
  assert.deepEqual(
    (await cluster.queue()).map(({ job_id }) => job_id),
    jobs,
  );
  const file = fileOf(home, cluster.name);
  assert.equal(readFileSync(file, "utf8"), "ran\n");
  rmSync(file);
}
