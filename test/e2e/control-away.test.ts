import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { request } from "undici";
import { until } from "../helpers/agent.ts";
import { listNodeHomes, startControl, type TestControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("control goes away while a log is followed", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const wanted = Array.from({ length: 400 }, (_, index) => `line ${index + 1}\n`).join("");
  const ran = join(control.home, "ran");
  const gate = join(control.home, "gate");
  const run = `echo ran >> ${ran}
    for i in {1..200}; do echo "line $i"; read -rt 0.005 <> <(:); done
    until [ -e ${gate} ]; do sleep 0.05; done
    for i in {201..400}; do echo "line $i"; read -rt 0.005 <> <(:); done; exit 5`;

  for (const signal of ["SIGKILL", "SIGTERM"] as const)
    await t.test(signal, async () => {
      const id = await cluster.launch(aTask(run));
      const raw = openRawFollower(control, id);
      const resumed = cluster.follow(id);
      void raw.read();
      await until(() => raw.text().includes("line 100\n") || undefined);
      const code = await control.end(signal);
      assert.equal(code, signal === "SIGTERM" ? 0 : null);
      await raw.broken;
      writeFileSync(gate, "");
      await control.start();
      await raw.read();
      assert.equal(raw.text(), wanted);
      assert.deepEqual(await resumed, { code: 100, text: wanted });
      assert.equal(await cluster.jobStatus(id), "FAILED");
      assert.equal(readFileSync(ran, "utf8"), "ran\n");
      for (const file of [ran, gate]) rmSync(file);
    });
});

test("control is killed while a job runs on two nodes", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const begun = join(control.home, "begun-");
  const run = `
    echo ran >> ~/ran
    for i in {1..100}; do echo "line $i"; done; touch ${begun}$OUTRIGGER_NODE_RANK
    until [ -e ${begun}on ]; do sleep 0.05; done
    for i in {101..200}; do echo "line $i"; done`;
  const id = await cluster.launch(aTask(run, { num_nodes: 2 }));
  const { promise: isRead, resolve: begins } = Promise.withResolvers<void>();
  const followed = cluster.follow(id, {}, begins);
  await isRead;
  await until(() => (existsSync(`${begun}0`) && existsSync(`${begun}1`)) || undefined);
  await control.end("SIGKILL");
  writeFileSync(`${begun}on`, "");
  await control.start();
  const { code, text } = await followed;
  assert.equal(code, 0);
  for (const prefix of ["(head, rank=0) ", "(worker1, rank=1) "]) {
    const said = text.split("\n").filter((line) => line.startsWith(prefix));
    const wanted = Array.from({ length: 200 }, (_, index) => `${prefix}line ${index + 1}`);
    assert.deepEqual(said, wanted);
  }
  for (const node of listNodeHomes(control.home))
    assert.equal(readFileSync(join(node, "ran"), "utf8"), "ran\n");
  await cluster.down();
});

/** Reads a log as a client without our SDK would: by the offset of the next byte. */
function openRawFollower({ endpoint }: TestControl, jobId: number) {
  const chunks: Buffer[] = [];
  const { promise: broken, resolve } = Promise.withResolvers<void>();
  return {
    text: () => Buffer.concat(chunks).toString(),
    /** Resolves once the connection broke. */
    broken,
    async read() {
      const offset = Buffer.concat(chunks).length;
      const input = { cluster_name: "demo", job_id: jobId, offset };
      try {
        const answer = await request(`${endpoint}/logs`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(input),
        });
        assert.equal(answer.headers["log-offset"], String(offset));
        for await (const chunk of answer.body) chunks.push(chunk);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        resolve();
      }
    },
  };
}
