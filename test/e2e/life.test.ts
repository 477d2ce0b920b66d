import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { request } from "undici";
import { findProcess } from "../../common/process-tree.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import { listNodeHomes, processesOf, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { filesOfZip } from "./zip.ts";

test("a cluster and its jobs, from launch to down", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;
  const cluster = clusterOf(control, "demo");
  const nodeHome = () => listNodeHomes(home)[0] ?? "";

  await t.test("launch streams the log and answers the job's exit code", async () => {
    const run = 'echo "hello $NAME"; echo oops >&2; exit 7';
    const setup = "echo setting up; touch ~/set-up";
    const task = aTask(run, {
      setup,
      envs: { NAME: "world" },
      resources: { ports: [8080, "90-91"] },
    });
    writeFileSync(join(home, "task.yaml"), task);
    const { code, stdout, stderr } = await control.cli("launch", "-y", "-c", "demo", "task.yaml");
    assert.equal(stdout, "setting up\nhello world\noops\n");
    assert.equal(code, 100);
    assert.match(stderr, /cluster demo is UP/i);
  });

  await t.test("exec leaves setup out; the log is read again in part or whole", async () => {
    const { code, stdout } = await control.cli("exec", "demo", "seq 1 5");
    assert.deepEqual([code, stdout], [0, "1\n2\n3\n4\n5\n"]);
    assert.equal(
      (await control.cli("logs", "demo", "--no-follow", "--tail", "2")).stdout,
      "4\n5\n",
    );
    assert.equal((await cluster.follow(1)).text, "setting up\nhello world\noops\n");
    assert.deepEqual(await cluster.follow(9), {
      code: 102,
      text: "cluster demo has no job 9\n",
    });
  });

  await t.test("queue and job_status tell how jobs ended", async () => {
    const jobs = await cluster.queue();
    assert.deepEqual(
      jobs.map(({ job_id, status, username }) => [job_id, status, username]),
      [
        [2, "SUCCEEDED", "ana"],
        [1, "FAILED", "ana"],
      ],
    );
    const of = { cluster_name: "demo" };
    const statuses = await client.callAndGet(rows.jobStatus, { ...of, job_ids: [1, 2, 5] });
    assert.deepEqual(statuses, { 1: "FAILED", 2: "SUCCEEDED", 5: null });
  });

  await t.test(
    "a cancelled job may clean up; no process of it is left once it is CANCELLED",
    async () => {
      const child = join(home, "child");
      const stubborn = `trap "sleep 0.3 && touch ${child}.saved; exit" TERM; echo $$ > ${child}.new; mv ${child}.new ${child}`;
      const id = await cluster.exec(
        aTask(`setsid bash -c '${stubborn}; while :; do sleep 0.05; done' & wait`),
      );
      await until(() => existsSync(child) || undefined);
      const pid = Number(readFileSync(child, "utf8"));
      const follower = cluster.follow(id);
      const cancelling = cluster.cancel(id);
      await cluster.untilJob(id, "CANCELLED");
      assert.notEqual(findProcess(pid)?.alive, true);
      assert.ok(existsSync(`${child}.saved`), "what its trap did was cut short");
      await cancelling;
      assert.equal((await follower).code, 103);
    },
  );

  await t.test("endpoints", async () => {
    const found = await client.callAndGet(rows.endpoints, { cluster: "demo" });
    assert.deepEqual(found, {
      8080: "127.0.0.1:8080",
      90: "127.0.0.1:90",
      91: "127.0.0.1:91",
    });
  });

  await t.test("logs are downloaded as a zip", async () => {
    const input = { cluster_name: "demo", job_ids: ["1", "2"] };
    const folders = await client.callAndGet(rows.downloadLogs, input);
    const answer = await request(`${control.endpoint}/download?relative=items`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        folder_paths: [folders["2"]],
      }),
    });
    const files = filesOfZip(Buffer.from(await answer.body.arrayBuffer()));
    assert.deepEqual(files, { "run.log": "1\n2\n3\n4\n5\n" });
  });

  await t.test("stop ends every process and keeps the disk; start brings it back", async () => {
    const id = await cluster.exec(aTask("setsid sleep 1000 & sleep 1000"));
    await cluster.untilJob(id, "RUNNING");
    const followed = cluster.follow(id).catch(({ type }) => type);
    await cluster.stop();
    assert.equal(await cluster.status(), "STOPPED");
    assert.deepEqual(processesOf(`HOME=${nodeHome()}`), []);
    const outcome = await followed;
    assert.ok(outcome === "UnreachableError" || outcome.code === 103, inspect(outcome));
    await assert.rejects(cluster.exec(aTask("true")), { type: "ClusterNotUpError" });
    await cluster.start();
    assert.equal(await cluster.status(), "UP");
    assert.equal(await cluster.jobStatus(id), "CANCELLED");
    const next = await cluster.exec(aTask("ls ~/set-up"));
    assert.deepEqual(await cluster.follow(next), { code: 0, text: `${nodeHome()}/set-up\n` });
  });

  await t.test("down leaves nothing", async () => {
    const id = await cluster.exec(aTask("sleep 1000"));
    await cluster.untilJob(id, "RUNNING");
    await cluster.down();
    assert.equal(await cluster.status(), undefined);
    assert.deepEqual(listNodeHomes(home), []);
    assert.deepEqual(
      processesOf(home).map(({ pid }) => pid),
      [control.pid],
    );
  });
});
