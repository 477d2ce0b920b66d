import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RequestId } from "../../client/sdk.ts";
import type { OutputOf } from "../../common/operation.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import {
  freezeAgent,
  listNodeHomes,
  processesOf,
  startControl,
  type TestControl,
} from "../helpers/programs.ts";
import { aTask, clusterOf, type TestCluster } from "./cluster.ts";
import { openGate } from "./gate.ts";

test("control is killed in the middle of a launch", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;

  /** Launches a cluster and has control killed, which answers the result unless that was too late. */
  async function launch(name: string, killed: (request: LaunchId) => Promise<Launched>) {
    const cluster = clusterOf(control, name);
    const input = { cluster_name: name, task: aTask(marks(home, name)) };
    const result = await untilInTime(
      async () => {
        const inTime = await killed(await client.call(rows.launch, input));
        if (inTime === undefined) await cluster.down();
        return inTime;
      },
      fileOf(home, name),
    );
    await assertRanOnce(control, cluster, result.job_id, 1);
  }

  await t.test("once the request is stored", () =>
    launch("stored", (request) => killDuring(control, request)),
  );
  await t.test("once the node is created", async () => {
    const before = listNodeHomes(home);
    await launch("created", async (request) => {
      const node = await until(() => listNodeHomes(home).find((one) => !before.includes(one)));
      return killDuring(control, request, await freezeAgent(node));
    });
  });
  assert.equal(listNodeHomes(home).length, 2);
});

test("control is killed once the agent has accepted a job", { timeout: 300_000 }, async (t) => {
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
      const result = (await killDuring(control, request, gate.close)) ?? assert.fail();
      await assertRanOnce(control, cluster, result.job_id, name === "launch" ? 2 : 3);
    });
});

test("control is killed while a stopped cluster comes back", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;
  const cluster = clusterOf(control, "demo");
  await cluster.launch(aTask("true"));
  const [node = ""] = listNodeHomes(home);

  await t.test("for a launch", async () => {
    let jobs = 1;
    const input = { cluster_name: "demo", task: aTask(marks(home, "demo")) };
    const result = await untilInTime(
      async () => {
        await cluster.stop();
        jobs += 1;
        const request = await client.call(rows.launch, input);
        return killDuring(control, request, await freezeAgent(node));
      },
      fileOf(home, "demo"),
    );
    await assertRanOnce(control, cluster, result.job_id, jobs);
  });
  await t.test("for a start", async () => {
    await untilInTime(async () => {
      await cluster.stop();
      const request = await client.call(rows.start, { cluster_name: "demo" });
      return killDuring(control, request, await freezeAgent(node));
    });
    assert.equal(await cluster.status(), "UP");
    assert.equal((await cluster.follow(await cluster.exec(aTask("true")))).code, 0);
  });
  assert.deepEqual(listNodeHomes(home), [node]);
});

test("control is killed while nodes go", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const { home, client } = control;
  const asked = join(home, "asked");
  const gate = join(home, "gate");
  const trapped = join(home, "trapped");
  const slow = `
    trap "touch ${asked}; until [ -e ${gate} ]; do sleep 0.05; done; exit" TERM
    touch ~/kept ${trapped}; sleep 987 & wait`;

  async function killOnceAsked(name: "stop" | "down") {
    await until(() => existsSync(trapped) || undefined);
    rmSync(trapped);
    const request = await client.call(rows[name], { cluster_name: "demo" });
    await until(() => existsSync(asked) || undefined);
    assert.equal(await killDuring(control, request, () => writeFileSync(gate, "")), null);
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
    await cluster.untilJob(await cluster.launch(aTask(`rm ${asked} ${gate}; ${slow}`)), "RUNNING");
    await until(() => !(existsSync(asked) || existsSync(gate)) || undefined);
    await killOnceAsked("down");
    assert.equal(await cluster.status(), undefined);
    assert.deepEqual(listNodeHomes(home), []);
  });
});

type LaunchId = RequestId<OutputOf<typeof rows.launch>>;
type Launched = OutputOf<typeof rows.launch> | undefined;

/**
 * Does the work again until it is in time: where this process slept, a request may be over before
 * control is killed. What jobs of such a time wrote to the file is thrown away.
 */
async function untilInTime<T>(work: () => Promise<T | undefined>, file?: string): Promise<T> {
  for (;;) {
    const result = await work();
    if (result !== undefined) return result;
    if (file !== undefined) rmSync(file, { force: true });
  }
}

/**
 * The result of a request under which control is killed and, after `between`, started again;
 * undefined when it was over before that.
 */
async function killDuring<T>(
  control: TestControl,
  id: RequestId<T>,
  between = () => {},
): Promise<T | undefined> {
  await control.end("SIGKILL");
  const killedAt = Date.now() / 1_000;
  between();
  await control.start();
  const result = await control.client.get(id);
  const query = { request_id: id };
  const record = await control.client.read<{ finished_at: number }>("/api/get", query);
  return record.finished_at > killedAt ? result : undefined;
}

const fileOf = (home: string, name: string) => join(home, `${name}.ran`);

/** A script that leaves a line for each time that it runs. */
const marks = (home: string, name: string) => `echo ran >> ${fileOf(home, name)}; echo done`;

/** The job is the last of so many, and ran once since this was asked before. */
async function assertRanOnce(
  { home }: TestControl,
  cluster: TestCluster,
  id: number | null,
  jobs: number,
): Promise<void> {
  assert.equal(id, jobs);
  assert.deepEqual(await cluster.follow(id ?? 0), { code: 0, text: "done\n" });
  assert.deepEqual(
    (await cluster.queue()).map(({ job_id }) => job_id),
    Array.from({ length: jobs }, (_, index) => jobs - index),
  );
  const file = fileOf(home, cluster.name);
  assert.equal(readFileSync(file, "utf8"), "ran\n");
  rmSync(file);
}
