import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { KyselyPlugin } from "kysely";
import type { HookEvent } from "../../../../contract/hooks.ts";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { copyFileOf, hookLogKey } from "../../../../control/clusters/hooks/log-copy.ts";
import { followHookLog } from "../../../../control/clusters/hooks/log-follow.ts";
import type { StoredLifecycle } from "../../../../control/clusters/lifecycles/schema.ts";
import { dropLifecycle, putLifecycle } from "../../../../control/clusters/lifecycles/store.ts";
import { clusterKey } from "../../../../control/clusters/schema.ts";
import { addCluster } from "../../../../control/clusters/store.ts";
import { openCopy } from "../../../../control/log-copy.ts";
import { until } from "../../../helpers/agent.ts";
import { aCluster, aLifecycle } from "../../../helpers/clusters.ts";
import { aRun } from "../../../helpers/lifecycles.ts";
import { testWorld } from "../../../helpers/world.ts";
import { writable } from "../../../helpers/writable.ts";

const name = { cluster_name: "demo" };

/** A world with a cluster that nobody listens to, and how its nodes' hooks come to write. */
async function withCluster(t: TestContext, nodes = 1) {
  const world = await testWorld(t);
  const { ctx } = world;
  const cluster = aCluster({ nodes, status: "STOPPED", wanted: "STOPPED" });
  await addCluster(writable(ctx), cluster);
  const { id: clusterId } = cluster;
  /** A lifecycle is now so. */
  async function tell(more: Partial<StoredLifecycle>) {
    await putLifecycle(writable(ctx), aLifecycle({ clusterId, ...more }));
    ctx.changes.notify(clusterKey(clusterId));
  }
  const file = (lifecycleId: string, event: HookEvent, rank = 0) =>
    copyFileOf(ctx, { clusterId, lifecycleId, event, rank });
  /** Something arrives of what hooks wrote; `isAll` when nothing more comes. */
  async function write(
    lifecycleId: string,
    event: HookEvent,
    text: string,
    isAll = false,
    rank = 0,
  ) {
    await using copy = await openCopy(file(lifecycleId, event, rank));
    await copy.write(copy.size, Buffer.from(text));
    if (isAll) await copy.finish();
    ctx.changes.notify(hookLogKey(clusterId));
  }
  const ask = (more: object = {}) => world.call(rows.hookLogs, { ...name, ...more });
  /** The result and all that was printed. */
  async function told(id: string): Promise<[number, string]> {
    return [await world.get(rows.hookLogs, id), await world.printed(id)];
  }
  const untilPrinted = (id: string, text: string) =>
    until(async () => (await world.printed(id)) === text || undefined);
  return { world, file, tell, write, ask, told, untilPrinted };
}

const done = { status: "DONE", endedAt: 9 } as const;

test("a hook log is followed while it grows, until it is whole", async (t) => {
  const { tell, write, ask, told, untilPrinted } = await withCluster(t);
  await tell({});
  const id = await ask();
  await tell({ runs: [aRun()] });

  await write("l1", "stop", "one\n");
  await untilPrinted(id, "one\n");
  await write("l1", "stop", "two\nthr");
  await untilPrinted(id, "one\ntwo\n");
  await write("l1", "stop", "ee", true);

  assert.deepEqual(await told(id), [0, "one\ntwo\nthree\n"]);
});

test("a hook log is read once the cluster is gone", async (t) => {
  const { world, tell, write, ask, told } = await withCluster(t);
  await tell({ events: ["down"], ...done });
  await write("l1", "down", "bye\n", true);
  await world.run(rows.down, name);

  assert.deepEqual(await told(await ask()), [0, "bye\n"]);
  assert.deepEqual(await told(await ask({ event: "down", follow: false })), [0, "bye\n"]);

  await addCluster(writable(world.ctx), aCluster({ id: "c2", launchedAt: Date.now() }));
  await assert.rejects(told(await ask({ follow: false })), /cluster demo has run no hook/);
  assert.deepEqual(await told(await ask({ cluster_name: "c1" })), [0, "bye\n"], "by its id");
});

test("a piece of a log costs its follower one look at one row", async (t) => {
  const { world, file, tell, write } = await withCluster(t);
  const { ctx } = world;
  await tell({ runs: [aRun()] });
  let queries = 0;
  const counting: KyselyPlugin = {
    transformQuery({ node }) {
      queries += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const log = {
    ...{ cluster: aCluster(), lifecycle: aLifecycle(), event: "stop" as const },
    ...{ follow: true, tail: 0, file: file("l1", "stop") },
  };
  const counted = { ...ctx, db: writable(ctx).withPlugin(counting) };
  const pieces = followHookLog(counted, log, new AbortController().signal);

  for (let round = 0; round < 20; round += 1) {
    const next = pieces.next();
    await write("l1", "stop", `${round}\n`);
    assert.equal(String((await next).value), `${round}\n`);
  }

  assert.ok(queries <= 25, `${queries} queries`);
  await pieces.return(undefined);
});

test("without follow a hook log is what there is of it", async (t) => {
  const { tell, write, ask, told } = await withCluster(t);
  await tell({ runs: [aRun()] });
  await write("l1", "stop", "one\ntwo\nthree\n");

  assert.deepEqual(await told(await ask({ follow: false })), [0, "one\ntwo\nthree\n"]);
  assert.deepEqual(await told(await ask({ follow: false, tail: 2 })), [0, "two\nthree\n"]);
});

test("of a log beyond measure a follower sees the end once it is known", async (t) => {
  const { world, tell, write, ask, told, untilPrinted, file } = await withCluster(t);
  await tell({ runs: [aRun()] });
  await write("l1", "stop", "begin\n");
  {
    await using copy = await openCopy(file("l1", "stop"));
    await copy.write(33 * 2 ** 20, Buffer.from("late\n"));
  }
  const id = await ask();
  const shown = "begin\n\n[33 MiB of output were left out here]\nlate\n";
  await untilPrinted(id, shown);

  await write("l1", "stop", "later\n");
  assert.match((await told(await ask({ follow: false })))[1], /later\n$/);
  assert.equal(await world.printed(id), shown);
  await write("l1", "stop", "end\n", true);

  assert.match((await told(id))[1], /later\nend\n$/);
});

test("a log whose node went too early says where it ends", async (t) => {
  const { tell, write, ask, told, untilPrinted } = await withCluster(t);
  await tell({ runs: [aRun()] });
  await write("l1", "stop", "one\n");
  const following = await ask();
  await untilPrinted(following, "one\n");
  await tell({ runs: [aRun()], ...done });

  const wanted = "one\n\n[the log ends here: the rest could not be fetched from node 0]\n";
  assert.deepEqual(await told(following), [0, wanted]);
  assert.deepEqual(await told(await ask({ follow: false })), [0, wanted]);
});

test("where there is nothing to show, what there is is named, and the code is not 0", async (t) => {
  const { world, tell, write, ask, told } = await withCluster(t);

  const none = { type: "NotFoundError", message: "cluster demo has run no hook" };
  await assert.rejects(told(await ask()), none);
  const idle = { ...none, message: "cluster demo has run no stop hook of autostop" };
  await assert.rejects(told(await ask({ event: "stop", autostop: true })), idle);
  assert.deepEqual(await told(await world.call(rows.autostopLogs, name)), [
    102,
    "cluster demo has run no hook of autostop\n",
  ]);
  await tell({ ...done });
  await write("l1", "stop", "one\n", true);
  const noDown = { ...none, message: "cluster demo has run no down hook; it has logs of: stop" };
  await assert.rejects(told(await ask({ event: "down" })), noDown);
  const nowhere = await ask({ cluster_name: "nowhere" });
  await assert.rejects(told(nowhere), { type: "ClusterDoesNotExist" });
});

test("a stop by hand is no log of autostop", async (t) => {
  const { world, tell, write, told } = await withCluster(t);
  await tell({ ...done, runs: [aRun()] });
  await write("l1", "stop", "asked for\n", true);

  assert.deepEqual(await told(await world.call(rows.autostopLogs, name)), [
    102,
    "cluster demo has run no hook of autostop; it has logs of: stop\n",
  ]);
});

test("who follows hooks that turn out not to be is told so", async (t) => {
  const { tell, ask, told, world } = await withCluster(t);
  await tell({});
  const id = await ask({ event: "stop" });
  await tell({ status: "JOBS" });

  await assert.rejects(told(id), { message: "cluster demo has run no stop hook" });
  assert.equal(
    (await world.http("POST", "/hook_logs", { body: { ...name, event: "x" } })).status,
    422,
  );
});

test("who follows a lifecycle that turns out to have joined another follows that one", async (t) => {
  const { world, tell, write, ask, told, untilPrinted } = await withCluster(t);
  await tell({ id: "ours" });
  const id = await ask();
  await tell({ id: "theirs", startedAt: 2, runs: [aRun()] });
  await dropLifecycle(writable(world.ctx), { clusterId: "c1", id: "ours", rank: 0 });
  await write("theirs", "stop", "one\n");

  await untilPrinted(id, "one\n");
  await write("theirs", "stop", "", true);
  assert.deepEqual(await told(id), [0, "one\n"]);
});

test("what a reader was sent is not kept twice for long", async (t) => {
  const { world, tell, write, ask, told } = await withCluster(t);
  await tell(done);
  await write("l1", "stop", "one\n", true);
  const [first, second] = [await ask(), await ask()];
  await Promise.all([told(first), told(second)]);
  const textsOf = () => readdirSync(join(world.home, "control/requests"));
  const before = textsOf();
  assert.ok(before.includes(`${first}.log`));

  world.advance(3 * 60_000);
  const third = await ask();
  assert.deepEqual(await told(third), [0, "one\n"]);

  assert.deepEqual(
    [first, second, third].map((id) => textsOf().includes(`${id}.log`)),
    [false, false, true],
  );
  assert.match(await world.printed(first), /kept for two minutes only; send the request again/);
});

test("lines of a preemption of several nodes name their ranks", async (t) => {
  const { tell, write, ask, told, untilPrinted } = await withCluster(t, 2);
  const taken = { events: ["preemption" as const], runs: [aRun({ event: "preemption" })] };
  await tell(taken);
  const id = await ask();
  await write("l1", "preemption", "head\n");
  await untilPrinted(id, "(rank 0) head\n");
  await tell({ id: "l2", rank: 1, startedAt: 2, ...taken });
  await write("l2", "preemption", "worker\nworker\n", true, 1);
  await untilPrinted(id, "(rank 0) head\n(rank 1) worker\n(rank 1) worker\n");
  await write("l1", "preemption", "bye\n", true);

  const wanted = "(rank 0) head\n(rank 1) worker\n(rank 1) worker\n(rank 0) bye\n";
  assert.deepEqual(await told(id), [0, wanted]);
});

test("the log of the idle action is that of the latest one", async (t) => {
  const { world, tell, write, told } = await withCluster(t);
  await tell({ id: "i", cause: "idle", events: ["stop"], ...done });
  await write("i", "stop", "idle\n", true);
  await tell({ id: "u", startedAt: 2, events: ["stop"], ...done });
  await write("u", "stop", "asked for\n", true);

  assert.deepEqual(await told(await world.call(rows.autostopLogs, name)), [0, "idle\n"]);
});

test("hooks cannot steer the clients of those who read their logs", async (t) => {
  const { tell, write, ask, told } = await withCluster(t);
  await tell({ runs: [aRun()] });
  await write("l1", "stop", "<sky-pay");
  await write("l1", "stop", "load>\n", true);

  assert.deepEqual(await told(await ask()), [0, "<sky_payload>\n"]);
});

test("a reader that control's end interrupted sees each line once", async (t) => {
  const { world, tell, write, ask, untilPrinted } = await withCluster(t);
  await tell({ runs: [aRun()] });
  await write("l1", "stop", "one\none\n");
  const id = await ask();
  await untilPrinted(id, "one\none\n");

  const next = await world.crash();
  await until(async () => (await next.printed(id)) === "one\none\n" || undefined);
  await putLifecycle(writable(next.ctx), aLifecycle(done));
  next.ctx.changes.notify(clusterKey("c1"));

  assert.equal(await next.get(rows.hookLogs, id), 0);
  assert.match(await next.printed(id), /^one\none\n\n\[the log ends here/);
});
