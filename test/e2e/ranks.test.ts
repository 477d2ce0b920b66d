import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { processesOf, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

const rankVariables = `
for prefix in OUTRIGGER SKYPILOT; do
  for name in NODE_RANK NUM_NODES NUM_GPUS_PER_NODE NODE_IPS; do
    variable=\${prefix}_$name; echo "$variable="\${!variable}
  done
done
echo "MASTER_ADDR=$MASTER_ADDR"`;

test("jobs on several nodes", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const three = clusterOf(control, "three");
  const at = (name: string) => join(control.home, name);

  await t.test("each rank is told its place; the log names who said what", async () => {
    const id = await three.launch(aTask(rankVariables, { num_nodes: 3 }));
    const { code, text } = await three.follow(id);
    assert.equal(code, 0, text);
    const lines = text.trimEnd().split("\n");
    for (const [rank, name] of ["head", "worker1", "worker2"].entries()) {
      const prefix = `(${name}, rank=${rank}) `;
      const said = lines.filter((line) => line.startsWith(prefix));
      assert.deepEqual(
        said.map((line) => line.slice(prefix.length)),
        [
          ...["OUTRIGGER", "SKYPILOT"].flatMap((word) => [
            `${word}_NODE_RANK=${rank}`,
            `${word}_NUM_NODES=3`,
            `${word}_NUM_GPUS_PER_NODE=0`,
            `${word}_NODE_IPS=127.0.0.1 127.0.0.1 127.0.0.1`,
          ]),
          "MASTER_ADDR=127.0.0.1",
        ],
      );
    }
    assert.equal(lines.length, 27);
  });

  await t.test("no rank runs before every rank is set up", async () => {
    const setup = `
      if [ $OUTRIGGER_SETUP_NODE_RANK = 1 ]; then
        until [ -e ${at("go")} ]; do sleep 0.05; done
      fi
      touch ${at("set-up-")}$OUTRIGGER_SETUP_NODE_RANK`;
    const run = `ls ${control.home} | grep -c set-up-; touch ${at("ran-")}$OUTRIGGER_NODE_RANK`;
    const id = await three.launch(aTask(run, { num_nodes: 2, setup }));
    await until(() => existsSync(at("set-up-0")) || undefined);
    assert.equal(await three.jobStatus(id), "SETTING_UP");
    assert.deepEqual(filesOf(control.home, "ran-"), []);
    writeFileSync(at("go"), "");
    const { code, text } = await three.follow(id);
    assert.equal(code, 0);
    assert.deepEqual(text.trimEnd().split("\n").sort(), [
      "(head, rank=0) 2",
      "(worker1, rank=1) 2",
    ]);
  });

  await t.test("a rank that fails ends the others", async () => {
    const run = `
      if [ $OUTRIGGER_NODE_RANK = 2 ]; then
        until [ "$(ls ${control.home} | grep -c sleeps-)" = 2 ]; do sleep 0.05; done; exit 9
      fi
      touch ${at("sleeps-")}$OUTRIGGER_NODE_RANK; setsid sleep 987 & sleep 987`;
    const id = await three.launch(aTask(run, { num_nodes: 3 }));
    assert.equal((await three.follow(id)).code, 100);
    assert.equal(await three.jobStatus(id), "FAILED");
    assert.deepEqual(sleepers(control.home), []);
  });

  await t.test("cancel ends every rank", async () => {
    const run = `touch ${at("rank-")}$OUTRIGGER_NODE_RANK; setsid sleep 987 & sleep 987`;
    const id = await three.launch(aTask(run, { num_nodes: 3 }));
    await until(() => filesOf(control.home, "rank-").length === 3 || undefined);
    await three.cancel(id);
    assert.deepEqual(sleepers(control.home), []);
    assert.equal(await three.jobStatus(id), "CANCELLED");
    assert.equal((await three.follow(id)).code, 103);
  });

  await three.down();
});

const filesOf = (folder: string, prefix: string) =>
  readdirSync(folder).filter((name) => name.startsWith(prefix));

const sleepers = (home: string) => processesOf(home).filter(({ name }) => name === "sleep");
