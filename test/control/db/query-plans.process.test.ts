import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { constants, DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as jobs } from "../../../contract/operations/jobs.ts";
import { requestOperations as requests } from "../../../contract/operations/requests.ts";
import { serveOperations as serve } from "../../../contract/operations/serve.ts";
import { lateNodes } from "../../../control/clusters/late-nodes.ts";
import { clusters as clusterReconciler } from "../../../control/clusters/reconcile.ts";
import { collect } from "../../../control/collector.ts";
import { databaseOf } from "../../../control/home.ts";
import { countJobs, listPage } from "../../../control/jobs/list-store.ts";
import { managedJobs } from "../../../control/jobs/reconcile.ts";
import { listQueued } from "../../../control/jobs/work-store.ts";
import { openRequests } from "../../../control/requests/run.ts";
import { services } from "../../../control/services/reconcile.ts";
import { replicas } from "../../../control/services/replicas/reconcile.ts";
import { listReplicas } from "../../../control/services/replicas/store.ts";
import type { World } from "../../helpers/world.ts";
import { demo } from "../requests/held-launch.ts";
import { aTask, serviceBed } from "../services/bed.ts";

/** What may be read from end to end, and why that is no more than the answer needs. */
const mayScan: Readonly<Record<string, string>> = {
  VIRTUAL: "the texts that the statement was given",
  placed: "the lifecycles of some clusters, as the statement itself numbered them",
  clusters_unsettled: "clusters with work to do alone",
  clusters_up: "clusters that are up alone: each is looked at",
  requests_unended: "requests that wait or run alone: all of them rest once control stops",
  services_live: "live services alone: each is looked at",
  replicas_live: "replicas that are not gone alone: each is looked at",
  storages_cluster: "buckets that go with a cluster alone",
  job_tasks_begun: "jobs under way alone: as many as a setting allows",
  job_tasks_called_back: "jobs with a callback that may have something to be told alone",
  job_task_counts: "a row for each user, workspace and status",
};

test("no statement of a hot path reads a table from end to end, or is planned anew each time", async (t) => {
  const migrated = await serviceBed(t);
  const prepared = recordStatements(t);
  const bed = await migrated.crash();
  const { world } = bed;

  await useClusters(world);
  await world.run(serve.up, { task: aTask(), service_name: "chat" });
  await bed.untilReady(1, 2);
  await bed.record();
  await useJobs(world);
  await useRequests(world);
  await workInBackground(world);

  const file = databaseOf(world.ctx.config.home);
  const scans = [...prepared].flatMap((statement) => scansOf(file, statement));
  assert.ok(prepared.size > 80, `only ${prepared.size} statements were prepared`);
  assert.deepEqual(scans, []);
  assert.deepEqual([...prepared].filter(isPlannedAnew), []);
});

test("a statement that is planned anew each time is found", () => {
  assert.deepEqual(
    ["?", "0 + ?"].map((limit) => isPlannedAnew(`select id from requests limit ${limit}`)),
    [true, false],
  );
});

test("a scan is found, whether through an index or not", async (t) => {
  const { world } = await serviceBed(t);
  const file = databaseOf(world.ctx.config.home);

  assert.deepEqual(
    [
      "select * from clusters where user_id = ?",
      "select id from requests order by created_at",
      "select id from clusters where status = 'UP'",
      "delete from events where reason = 'x'",
    ].map((statement) => scansOf(file, statement).length),
    [1, 1, 0, 1],
  );
});

test("replicas that are gone cost those that live nothing", async (t) => {
  const { world } = await serviceBed(t);
  const prepared = recordStatements(t);

  await listReplicas(world.ctx.db, "a-service");

  const [statement = ""] = prepared;
  const steps = planOf(databaseOf(world.ctx.config.home), statement);
  assert.deepEqual(steps, ["SEARCH replicas USING INDEX replicas_live (service_id=?)"]);
});

test("lists read neither results nor bodies, nor tasks that they do not show", async (t) => {
  const { world } = await serviceBed(t);
  await world.run(clusters.launch, demo);
  const prepared = recordStatements(t);

  await world.http("GET", "/api/status?all_status=true");
  await world.run(clusters.status, { summary_response: true });
  await world.run(clusters.costReport, { dashboard_summary_response: true });

  const readers = [...prepared].filter((text) =>
    /^select .*from "(requests|clusters)"/s.test(text),
  );
  assert.ok(readers.length >= 3, "the lists were read");
  for (const statement of readers)
    assert.doesNotMatch(statement, /"(return_value|error|input|progress|task_yaml|hooks|parcels)"/);
});

test("a name is looked up, a pattern is tried on names alone", async (t) => {
  const { world } = await serviceBed(t);
  for (const cluster_name of ["demo", "other"])
    await world.run(clusters.launch, { ...demo, cluster_name });
  const ask = async (cluster_names: string[]) => {
    const prepared = recordStatements(t);
    const found = await world.run(clusters.status, { cluster_names });
    return { names: found.map(({ name }) => name), statements: [...prepared] };
  };

  const one = await ask(["demo"]);
  const some = await ask(["dem*", "nowhere"]);

  assert.deepEqual([one.names, some.names], [["demo"], ["demo"]]);
  assert.deepEqual(some.statements, [
    `select "name" from "clusters" where "status" <> 'GONE' and "name" >= ? and "name" < ? order by "name" limit 0 + ?`,
  ]);
});

test("jobs that wait for a worker are read in the order in which they get one, not sorted", async (t) => {
  const { world } = await serviceBed(t);
  const prepared = recordStatements(t);
  await listQueued(world.ctx.db, "a pool");

  const steps = [...prepared].flatMap((text) => planOf(databaseOf(world.ctx.config.home), text));
  assert.deepEqual(steps, ["SEARCH job_tasks USING INDEX job_tasks_queued (pool_id=?)"]);
});

test("jobs of one status, and those with a part of a name, are read from an index alone", async (t) => {
  const { world } = await serviceBed(t);
  const prepared = recordStatements(t);
  const wanted = { userId: undefined, workspaces: null, statuses: ["SUCCEEDED"] } as const;
  await listPage(world.ctx.db, { ...wanted, order: "desc", limit: 50, offset: 0 });
  await countJobs(world.ctx.db, wanted);
  await world.run(jobs.launch, { task: "run: x", name: "train" });
  await world.run(jobs.queueV2, { all_users: true, name_match: "rai", limit: 50 });

  const texts = [...prepared].filter((text, at) => at < 2 || text.includes(" like "));
  const steps = texts.map((text) => planOf(databaseOf(world.ctx.config.home), text));
  assert.equal(steps.length, 4);
  for (const [step = ""] of steps)
    assert.match(step, /^SEARCH job_tasks USING COVERING INDEX job_tasks_status /);
  // Those of one status need not be sorted.
  assert.deepEqual(
    steps.slice(0, 2).map(({ length }) => length),
    [1, 1],
  );
});

async function useClusters(world: World): Promise<void> {
  const { cluster_name } = demo;
  await world.run(clusters.launch, demo);
  await world.run(clusters.launch, demo);
  await world.run(clusters.exec, demo);
  await world.run(clusters.queue, { cluster_name });
  await world.run(clusters.jobStatus, { cluster_name, job_ids: null });
  for (const input of [
    { cluster_names: [cluster_name] },
    { cluster_names: ["de*"] },
    { all_users: true, refresh: "FORCE" as const },
    { summary_response: true },
  ])
    await world.run(clusters.status, input);
  await world.run(clusters.clusterEvents, { cluster_name, event_type: "NOTEWORTHY" });
  await world.run(clusters.costReport, {});
  for (const query of ["since=0", "tail=5", `since=0&name=${cluster_name}`, "tail=5&noun=service"])
    assert.equal((await world.http("GET", `/events?follow=false&${query}`)).status, 200, query);
  await world.http("POST", "/provision_logs", { body: { cluster_name, follow: false } });
  await world.run(clusters.autostop, { cluster_name, idle_minutes: 5 });
  await world.run(clusters.stop, { cluster_name });
  await world.run(clusters.start, { cluster_name });
  await world.run(clusters.down, { cluster_name });
}

async function useJobs(world: World): Promise<void> {
  for (const name of ["a", "b"]) await world.run(jobs.launch, { task: "run: x", name });
  for (const input of [
    {},
    { all_users: true, page: 1, limit: 1 },
    { skip_finished: true, sort_order: "asc" },
    { statuses: ["RUNNING"], page: 2, limit: 1 },
    { name_match: "a", sort_by: "job_name" },
    { job_ids: [1] },
  ])
    await world.run(jobs.queueV2, input);
  const user = await world.as("ben");
  await user.run(jobs.queueV2, {});
  await user.run(jobs.queueV2, { all_users: true, statuses: ["PENDING"], page: 1, limit: 1 });
  await user.run(jobs.queueV2, { user_match: "b" });
  await world.run(jobs.cancel, { name: "a" });
  await world.run(jobs.cancel, { all: true });
  assert.equal(await world.run(jobs.wait, { job_id: 1 }), 103);
  await world.http("POST", "/jobs/logs", { body: {} });
  await world.run(jobs.events, { job_id: 1, include_cluster_events: true });
}

async function useRequests(world: World): Promise<void> {
  const release = world.provider.holds("create");
  const id = await world.call(clusters.launch, { ...demo, cluster_name: "held" });
  await world.provider.held("create");
  for (const query of [
    "",
    "?all_status=true",
    "?cluster_name=held",
    "?cluster_name=held&all_status=true",
    "?limit=1&fields=name",
    `?after=${id}`,
    `?after=${id}&all_status=true&cluster_name=held`,
    `?request_ids=${id}`,
    `?request_ids=${id.slice(0, 8)}`,
  ])
    assert.equal((await world.http("GET", `/api/status${query}`)).status, 200, query);
  await world.http("GET", "/api/completion/api_request?incomplete=");
  await world.http("GET", "/api/completion/cluster_name?incomplete=h");
  await world.http("GET", "/api/stream?follow=false");
  await world.run(requests.cancel, { request_ids: null, user_id: "nobody" });
  await world.run(requests.cancel, { request_ids: null });
  await assert.rejects(world.get(clusters.launch, id));
  release();
}

async function workInBackground(world: World): Promise<void> {
  const { ctx } = world;
  for (const noun of [clusterReconciler, lateNodes, services, replicas, managedJobs])
    await noun.due(ctx);
  await collect(ctx);
  world.advance(400 * 86_400_000);
  await collect(ctx);
  await openRequests(ctx, []);
}

const folder = join(import.meta.dirname, "../../../control/db/migrations");
const migrations = readdirSync(folder)
  .map((name) => readFileSync(join(folder, name), "utf8"))
  .join(";");

/** The text of every statement that is prepared from now on, but for those that bring the tables up to date. */
function recordStatements(t: TestContext): ReadonlySet<string> {
  const { prepare } = DatabaseSync.prototype;
  const texts = new Set<string>();
  t.mock.method(DatabaseSync.prototype, "prepare", function (this: DatabaseSync, text: string) {
    const isOfUse = /^(select|insert|update|delete|with)\b/i.test(text);
    if (isOfUse && !migrations.includes(text)) texts.add(text);
    return prepare.call(this, text);
  });
  return texts;
}

/** What a statement reads from end to end although it is not in the list. */
const scansOf = (file: string, statement: string): string[] =>
  planOf(file, statement).flatMap((step) => {
    const [, table, index] = /^SCAN (\w+)(?:.*?(VIRTUAL|(?<=INDEX )\w+))?/.exec(step) ?? [];
    // The rows that a statement is given are no table.
    if (step.endsWith("VALUES CLAUSE")) return [];
    if (table === undefined || table === "CONSTANT" || (index ?? table) in mayScan) return [];
    return [`${step}: ${statement}`];
  });

/** The steps in which SQLite carries out a statement. */
function planOf(file: string, statement: string): string[] {
  using db = new DatabaseSync(file, { readOnly: true });
  const steps = db.prepare(`explain query plan ${statement}`).all();
  return steps.map(({ detail }) => String(detail));
}

/** Whether SQLite plans a statement again when it runs again, as where its plan depends on a value. */
function isPlannedAnew(statement: string): boolean {
  using db = new DatabaseSync(":memory:");
  db.exec(migrations);
  let checks = 0;
  db.setAuthorizer(() => {
    checks += 1;
    return constants.SQLITE_OK;
  });
  const prepared = db.prepare(statement);
  const values = statement.match(/\?/g)?.map(String) ?? [];
  const before = checks;
  try {
    prepared.all(...values);
  } catch {
    // Such values may make no sense to it; it is planned before they are looked at.
  }
  return checks > before;
}
