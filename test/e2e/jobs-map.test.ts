import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { jobOperations as jobs } from "../../contract/operations/jobs.ts";
import { poolOperations as pools } from "../../contract/operations/pools.ts";
import { until } from "../helpers/agent.ts";
import { kill, processesOf, startControl } from "../helpers/programs.ts";

const inputs = 200;

test("inputs are mapped over a pool whose worker is lost, by a client that is killed", {
  timeout: 300_000,
}, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;
  const at = (name: string) => join(home, name);
  writeFileSync(at("pool.yaml"), "pool: {workers: 3}\n");
  const all = Array.from({ length: inputs }, (_, index) => index);
  writeFileSync(at("inputs.jsonl"), all.map((n) => `{"n": ${n}, "of": "it's \\"é\\""}\n`).join(""));
  // Every tenth fails the first time, one always; one waits the first time, and its worker is lost.
  writeFileSync(
    at("square.yaml"),
    JSON.stringify({
      name: "square",
      run: `n=$OUTRIGGER_MAP_INDEX
echo $n >> ${home}/runs
[ "$(cat $OUTRIGGER_MAP_INPUT_FILE)" = "$OUTRIGGER_MAP_INPUT" ] || exit 9
if [ $((n % 10)) = 3 ] && mkdir ${home}/failed-$n 2> /dev/null; then exit 1; fi
[ $n != 77 ] || exit 7
if [ $n = 100 ] && mkdir ${home}/waits; then until [ -e ${home}/gate ]; do sleep 0.1; done; fi
printf "%s" "half a line"
printf '{"square":\\n %s}\\n' $((n * n)) > $OUTRIGGER_MAP_RESULT_FILE`,
    }),
  );
  const files = ["--inputs", at("inputs.jsonl"), "--results", at("results.jsonl")];
  const map = () => control.cli("jobs", "map", "-y", "-p", "warm", ...files, at("square.yaml"));
  assert.equal((await control.cli("jobs", "pool", "apply", "-p", "warm", at("pool.yaml"))).code, 0);
  await until(async () => {
    const [pool] = await client.callAndGet(pools.status, { pool_names: "warm" });
    return pool?.replica_info.every(({ status }) => status === "READY") || undefined;
  });

  const killed = map();
  await until(() => existsSync(at("waits")) || undefined);
  for (const { pid } of processesOf(at("results.jsonl"))) kill(pid);
  assert.equal((await killed).code, null);
  const resumed = map();
  const { jobs: found } = await client.callAndGet(jobs.queueV2, { statuses: ["RUNNING"] });
  const holder = found.find(({ job_id: id }) => id === 1 + Math.floor((100 * 32) / inputs));
  const cluster = holder?.current_cluster_name ?? assert.fail("the job of input 100 has no worker");
  assert.equal((await control.cli("preempt", "-y", cluster, "--lose")).code, 0);
  const { code, stdout, stderr } = await resumed;

  assert.deepEqual([code, stdout], [100, `${at("results.jsonl")}\n`], stderr);
  assert.match(stderr, /200 inputs: 199 succeeded, 1 failed/);
  const results = readFileSync(at("results.jsonl"), "utf8").trimEnd().split("\n");
  for (const [n, line] of results.entries()) {
    const { job, ...result } = JSON.parse(line);
    const expected = n === 77 ? { error: "exit code 7" } : { result: { square: n * n } };
    assert.deepEqual(result, { index: n, ...expected });
  }
  assert.equal(results.length, inputs);
  assert.equal(existsSync(at("results.jsonl.partial")), false);
  const runs = readFileSync(at("runs"), "utf8").trimEnd().split("\n").map(Number);
  const expected = all.reduce(
    (sum, n) => sum + (n === 77 ? 3 : n % 10 === 3 || n === 100 ? 2 : 1),
    0,
  );
  assert.equal(runs.length, expected, "what was recorded is not run again");
  const refused = await map();
  assert.deepEqual([refused.code, /results.jsonl exists/.test(refused.stderr)], [5, true]);
});
