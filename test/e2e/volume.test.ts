import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Agent, request } from "undici";
import { until } from "../helpers/agent.ts";
import { findAgent, listNodeHomes, peakMemoryOf, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

const megabyte = 2 ** 20;
/** What either program may grow by while it passes on far more than that. */
const growthAtMost = 120 * megabyte;

test("logs of any size, for any number of readers", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  await cluster.launch(aTask("true"));
  const programs = { control: control.pid, agent: findAgent(listNodeHomes(control.home)[0] ?? "") };
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: null });
  t.after(() => dispatcher.destroy());

  const open = (jobId: number) =>
    request(`${control.endpoint}/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ cluster_name: "demo", job_id: jobId }),
      dispatcher,
    });

  /** Counts and hashes what one reader of a job's log is sent. */
  async function read(jobId: number, begun = () => {}) {
    const answer = await open(jobId);
    begun();
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of answer.body) {
      size += chunk.length;
      hash.update(chunk);
    }
    return { size, hash: hash.digest("hex") };
  }

  /** Does the work; neither program may need much more memory for it than it ever did. */
  async function withinBounds<T>(work: () => Promise<T>): Promise<T> {
    const before = Object.entries(programs).map(([name, pid = 0]) => ({
      name,
      pid,
      peak: peakMemoryOf(pid),
    }));
    const result = await work();
    for (const { name, pid, peak } of before) {
      const growth = peakMemoryOf(pid) - peak;
      t.diagnostic(`${name} grew by ${Math.round(growth / megabyte)} MB`);
      assert.ok(growth < growthAtMost, `${name} grew by ${growth} bytes`);
    }
    return result;
  }

  await t.test("200 MB as fast as can be, while another reader takes nothing", async () => {
    const size = 200 * megabyte;
    const id = await cluster.exec(
      aTask(`yes "0123456789 abcdefghijklmnopqrstuvwxyz" | head -c ${size}`),
    );
    const got = await withinBounds(async () => {
      const idle = await open(id);
      const result = await read(id);
      idle.body.destroy();
      return result;
    });
    assert.equal(got.size, size);
  });

  await t.test("100 readers at once", async () => {
    const gate = join(control.home, "gate");
    const part = "seq 1 20000";
    const id = await cluster.exec(
      aTask(`${part}; until [ -e ${gate} ]; do sleep 0.05; done; ${part}`),
    );
    const all = await withinBounds(async () => {
      let begun = 0;
      const begins = () => {
        begun += 1;
      };
      const readers = Array.from({ length: 100 }, () => read(id, begins));
      await until(() => begun === 100 || undefined);
      writeFileSync(gate, "");
      return Promise.all(readers);
    });
    const text = `${Array.from({ length: 20_000 }, (_, index) => index + 1).join("\n")}\n`.repeat(
      2,
    );
    const wanted = { size: text.length, hash: createHash("sha256").update(text).digest("hex") };
    for (const one of all) assert.deepEqual(one, wanted);
  });

  await cluster.down();
});
