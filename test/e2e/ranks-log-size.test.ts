import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

const megabyte = 2 ** 20;
const atMost = 64;
const lines = 120 * 1024;
/** Every line has 1 KiB. */
const print = `seq -f "%06.0f $(printf %01016d 0)" 1 ${lines}`;

test("no node keeps more of the log of a job on several nodes than it may", async (t) => {
  const control = await startControl(t, { env: { OUTRIGGER_JOB_LOG_MEGABYTES: String(atMost) } });
  const pair = clusterOf(control, "pair");
  const id = await pair.launch(aTask(print, { num_nodes: 2 }));
  await pair.untilJob(id, "SUCCEEDED");

  const logs = globSync(join(control.home, `nodes/*/.outrigger/jobs/${id}/*.log`));
  assert.equal(logs.length, 4, logs.join());
  // The gap grows in steps of 16 MiB.
  const isSmall = (log: string) => statSync(log).blocks * 512 <= (atMost + 17) * megabyte;
  await until(() => logs.every(isSmall) || undefined);

  const sizes = logs.map((log) => statSync(log).size).sort((one, other) => one - other);
  assert.deepEqual(sizes.slice(0, 3), Array(3).fill(lines * 1024));
  const merged = logs.find((log) => statSync(log).size === sizes[3]) ?? assert.fail();
  const bytes = readFileSync(merged);
  const kept = [bytes.subarray(0, megabyte), bytes.subarray(-megabyte)].map(String);
  for (const part of kept)
    for (const line of part.split("\n").slice(1, -1))
      assert.match(line, /^\((head, rank=0|worker1, rank=1)\) \d{6} 0{1016}$/);
  assert.match(kept[1] ?? "", new RegExp(`\\) ${lines} 0{1016}\\n$`));
});
