import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import {
  findAgent,
  kill,
  listNodeHomes,
  processesOf,
  startControl,
  type TestControl,
} from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

const seed = Number(process.env["KILL_SEED"] ?? randomInt(2 ** 31));
const rounds = Number(process.env["KILL_ROUNDS"] ?? 6);

/** Who dies in a round, and how long after its operation began. */
interface Kill {
  readonly victims: readonly ("control" | "agent")[];
  readonly afterMs: number;
}
const anyKill: fc.Arbitrary<Kill> = fc.record({
  victims: fc.constantFrom<Kill["victims"][]>(["control"], ["agent"], ["agent", "control"]),
  afterMs: fc.noBias(fc.integer({ min: 0, max: 500 })),
});

const lines = Array.from({ length: 50 }, (_, index) => `line ${index + 1}\n`).join("");
const sayLines = 'for i in {1..50}; do echo "line $i"; read -rt 0.01 <> <(:); done; exit 0';

test(`control and its agent are killed at random; KILL_SEED=${seed}`, async (t) => {
  const control = await startControl(t);
  const operations = Object.entries(operationsOf(control));
  const deaths = fc.sample(anyKill, { seed, numRuns: rounds });

  for (const [index, death] of deaths.entries()) {
    const [name, begin] = operations[index % operations.length] ?? assert.fail();
    const victims = death.victims.join(" and ");
    await t.test(
      `${name}, ${victims} after ${death.afterMs} ms`,
      { timeout: 300_000 },
      async () => {
        const endsWell = await begin();
        await carryOut(control, death);
        await endsWell();
      },
    );
  }
});

async function carryOut(control: TestControl, { victims, afterMs }: Kill): Promise<void> {
  await sleep(afterMs);
  const [node = ""] = listNodeHomes(control.home);
  const agent = victims.includes("agent") ? findAgent(node) : undefined;
  if (agent !== undefined) kill(agent);
  if (!victims.includes("control")) return;
  await control.end("SIGKILL");
  await control.start();
}

/** The life of a cluster: each begins an operation; what it returns checks how that ended. */
function operationsOf(control: TestControl) {
  const { home, client } = control;
  const demo = { cluster_name: "demo" };
  const cluster = clusterOf(control, "demo");
  const ran = join(home, "ran");
  let jobs = 0;

  /** A task that leaves its number each time that it runs. */
  const nextTask = () => {
    jobs += 1;
    return aTask(`echo ${jobs} >> ${ran}; ${sayLines}`);
  };
  const assertRanOnce = async (id: number | null, begins?: () => void) => {
    assert.deepEqual(await cluster.follow(id ?? 0, {}, begins), { code: 0, text: lines });
    const once = Array.from({ length: jobs }, (_, index) => `${index + 1}\n`);
    assert.equal(readFileSync(ran, "utf8"), once.join(""));
  };
  const submits = (name: "launch" | "exec") => async () => {
    const id = await client.call(rows[name], { ...demo, task: nextTask() });
    return async () => assertRanOnce((await client.get(id)).job_id);
  };
  const changes = (name: "stop" | "start" | "down", status: string | undefined) => async () => {
    if (name !== "start") await cluster.exec(aTask("setsid sleep 987 & sleep 987"));
    const id = await client.call(rows[name], demo);
    return async () => {
      await client.get(id);
      assert.equal(await cluster.status(), status);
      if (status === "UP") return;
      const left = processesOf(home).map(({ pid }) => pid);
      assert.deepEqual(left, [control.pid]);
      assert.equal(listNodeHomes(home).length, status === "STOPPED" ? 1 : 0);
    };
  };
  return {
    launch: submits("launch"),
    exec: submits("exec"),
    async log() {
      const id = await cluster.exec(nextTask());
      const { promise: begun, resolve } = Promise.withResolvers<void>();
      const ranOnce = assertRanOnce(id, resolve);
      await Promise.race([begun, ranOnce]);
      return () => ranOnce;
    },
    stop: changes("stop", "STOPPED"),
    start: changes("start", "UP"),
    down: changes("down", undefined),
  };
}
