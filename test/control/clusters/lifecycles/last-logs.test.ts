import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AppError } from "../../../../common/errors.ts";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { copyFileOf } from "../../../../control/clusters/hooks/log-copy.ts";
import { name, withHooks } from "../hooked-cluster.ts";

type Bed = Awaited<ReturnType<typeof withHooks>>;

/** Stops the cluster, whose hook prints while nobody listens; answers what control has of it then. */
async function lastWordsOf({ world, agent, id, hookRuns, untilLifecycle }: Bed): Promise<string> {
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  const { id: lifecycleId } = await untilLifecycle(({ runs }) => runs.length > 0);
  world.ctx.watches.forget(id);
  agent().printHook("the last words\n");
  agent().endHook();
  await world.look("demo");
  await world.get(rows.stop, stop);
  const copy = { clusterId: id, lifecycleId, event: "stop", rank: 0 } as const;
  return readFileSync(copyFileOf(world.ctx, copy), "utf8");
}

test("what hooks wrote is fetched before the nodes go, also when nobody was listening", async (t) => {
  const bed = await withHooks(t, { holds: true });

  assert.equal(await lastWordsOf(bed), "the last words\n");
});

test("logs that cannot be fetched hold nothing up; an event says so", async (t) => {
  const { world, agent, hookRuns, remarks } = await withHooks(t, { holds: true });
  agent().node.onReadLog = () => {
    throw new AppError("RuntimeError", "the disk is broken");
  };
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  agent().printHook("lost\n");
  agent().endHook();
  await world.get(rows.stop, stop);

  assert.equal((await remarks()).at(-1), "node 0 was removed before its hook logs were copied");
});

test("logs of a head whose agent dies meanwhile are fetched once it is back", async (t) => {
  const bed = await withHooks(t, { holds: true });
  const { node } = bed.agent();
  let deaths = 0;
  node.onReadLog = () => {
    deaths += 1;
    if (deaths <= 2) throw new AppError("UnreachableError", "other side closed");
  };

  assert.equal(await lastWordsOf(bed), "the last words\n");
  assert.ok(deaths > 2);
  assert.ok(
    !(await bed.remarks()).some((line) => line.includes("before its hook logs were copied")),
  );
});
