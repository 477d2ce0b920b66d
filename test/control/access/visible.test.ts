import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { GivenInputOf, Operation } from "../../../common/operation.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as jobs } from "../../../contract/operations/jobs.ts";
import { poolOperations as pools } from "../../../contract/operations/pools.ts";
import { requestOperations as requests } from "../../../contract/operations/requests.ts";
import { serveOperations as serve } from "../../../contract/operations/serve.ts";
import { storageOperations as storage } from "../../../contract/operations/storage.ts";
import { volumeOperations as volumes } from "../../../contract/operations/volumes.ts";
import { addStorage } from "../../../control/storage/store.ts";
import type { Account } from "../../../control/users/schema.ts";
import { addVolume } from "../../../control/volumes/store.ts";
import { openFakeBalancers } from "../../helpers/fake-balancers.ts";
import { type Calls, testWorld } from "../../helpers/world.ts";
import { aTask } from "../services/bed.ts";
import { aPool } from "../services/pools/bed.ts";
import { aStorage } from "../storage/rows.ts";
import { aVolume } from "../volumes/rows.ts";

const inTeam = { override_outrigger_config: { active_workspace: "team" } };
const demo = { cluster_name: "veiled", task: "run: 'true'" };

/** A world in which ann has a cluster and a service in a private workspace, and who may see them or not. */
async function openTeam(t: { after(clean: () => Promise<void>): void }) {
  const balancers = openFakeBalancers({ usually: { readiness: "ready" } });
  const world = await testWorld(t, { balancers });
  const workspaces = { team: { private: true, allowed_users: ["ann", "mia", "vic"] } };
  await world.ctx.batch((tx) =>
    tx
      .insertInto("configurations")
      .values({
        ...{ version: 1, user_id: "ada", user_name: "ada", created_at: 0 },
        document: world.ctx.seal.seal(JSON.stringify({ workspaces })),
      })
      .execute(),
  );
  const as = (name: string, given: Partial<Account> = {}) => world.as(name, given);
  const ann = await as("ann");
  const launch = await ann.call(clusters.launch, { ...demo, ...inTeam });
  await ann.get(clusters.launch, launch);
  await ann.run(serve.up, { service_name: "shrouded", task: aTask(), ...inTeam });
  await ann.run(jobs.launch, { name: "hushed", task: demo.task, ...inTeam });
  await ann.run(pools.apply, { pool_name: "hushed", mode: "rolling", task: aPool(), ...inTeam });
  const user = { id: "ann", name: "ann" };
  await world.ctx.batch(async (tx) => {
    await addStorage(tx, aStorage({ name: "veiled", user, workspace: "team" }));
    await addVolume(tx, aVolume({ name: "veiled", user, workspace: "team" }));
  });
  return {
    ...{ world, launch, ann },
    members: { ann, mia: await as("mia"), ada: await as("ada", { role: "admin" }) },
    outsiders: { oli: await as("oli"), vera: await as("vera", { role: "viewer" }) },
    viewer: await as("vic", { role: "viewer" }),
  };
}

let team: Awaited<ReturnType<typeof openTeam>>;
const cleaners: (() => Promise<void>)[] = [];
before(async () => {
  team = await openTeam({ after: (clean) => void cleaners.push(clean) });
});
after(async () => {
  for (const clean of cleaners) await clean();
});

/** What shows things of others, and what of them it shows. */
const shows: Record<string, (caller: Calls) => Promise<unknown>> = {
  status: (caller) => caller.run(clusters.status, {}),
  "status by name": (caller) => caller.run(clusters.status, { cluster_names: ["veiled"] }),
  "status by pattern": (caller) => caller.run(clusters.status, { cluster_names: ["v*"] }),
  cost_report: (caller) => caller.run(clusters.costReport, {}),
  "serve.status": (caller) => caller.run(serve.status, { service_names: ["shrouded"] }),
  "jobs.pool_status": (caller) => caller.run(pools.status, { pool_names: null }),
  "jobs.queue_v2": (caller) => caller.run(jobs.queueV2, { all_users: true }),
  "jobs.queue": (caller) => caller.run(jobs.queue, { all_users: true }),
  "jobs.queue_v2 by number": (caller) =>
    caller.run(jobs.queueV2, { all_users: true, job_ids: [1] }),
  "completion of clusters": async (caller) =>
    (await caller.http("GET", "/api/completion/cluster_name?incomplete=")).text,
  storage_ls: (caller) => caller.run(storage.list, {}),
  volume_list: (caller) => caller.run(volumes.list, {}),
  "completion of volumes": async (caller) =>
    (await caller.http("GET", "/api/completion/volume_name?incomplete=")).text,
  "completion of storages": async (caller) =>
    (await caller.http("GET", "/api/completion/storage_name?incomplete=")).text,
  events: async (caller) => (await caller.http("GET", "/events?since=0&follow=false")).text,
};

for (const [what, show] of Object.entries(shows))
  test(`${what} shows what is in the caller's workspaces, and nothing else`, async () => {
    const { members, outsiders, viewer } = team;
    const isShown = async (caller: Calls) =>
      /veiled|shrouded|hushed/.test(JSON.stringify(await show(caller)));

    for (const [name, caller] of Object.entries({ ...members, viewer }))
      assert.ok(await isShown(caller), `${name} sees it`);
    for (const [name, caller] of Object.entries(outsiders))
      assert.ok(!(await isShown(caller)), `${name} does not`);
  });

type Ask = [row: Operation, input: GivenInputOf<Operation>];

/** What names a cluster or a service; the answer is the same where there is none. */
const asks: Record<string, (name: string) => Ask> = {
  queue: (cluster_name) => [clusters.queue, { cluster_name }],
  logs: (cluster_name) => [clusters.logs, { cluster_name, job_id: null }],
  endpoints: (cluster) => [clusters.endpoints, { cluster }],
  cluster_events: (cluster_name) => [clusters.clusterEvents, { cluster_name, event_type: "DEBUG" }],
  hook_logs: (cluster_name) => [clusters.hookLogs, { cluster_name }],
  "jobs.wait": (name) => [jobs.wait, { name }],
  "jobs.cancel": (name) => [jobs.cancel, { name }],
  "jobs.launch": (pool) => [jobs.launch, { name: null, task: demo.task, pool }],
  stop: (cluster_name) => [clusters.stop, { cluster_name }],
  down: (cluster_name) => [clusters.down, { cluster_name }],
  exec: (cluster_name) => [clusters.exec, { cluster_name, task: demo.task }],
  "serve.update": (service_name) => [
    serve.update,
    { service_name, task: aTask(), mode: "rolling" },
  ],
};

const names: Readonly<Record<string, string>> = { serve: "shrouded", jobs: "hushed" };

for (const [what, ask] of Object.entries(asks))
  test(`${what} answers outsiders as if there were no such thing`, async () => {
    const { outsiders } = team;
    const name = names[what.split(".")[0] ?? ""] ?? "veiled";
    const answerTo = async (asked: string) => {
      const [row, input] = ask(asked);
      const error = await outsiders.oli.run(row, input).then(() => undefined, String);
      return error?.replaceAll(asked, "NAME");
    };

    const answer = await answerTo(name);

    assert.match(answer ?? "", /there (is|was) no/);
    assert.equal(answer, await answerTo("nowhere"));
  });

test("the log of a managed job, and its number, say nothing to outsiders", async () => {
  const { members, outsiders } = team;
  const logOf = async (caller: Calls, input: object) =>
    (await caller.http("POST", "/jobs/logs", { body: { follow: false, ...input } })).text;

  for (const input of [{ name: "hushed" }, { job_id: 1 }])
    assert.match(await logOf(outsiders.oli, input), /^there is no managed job/);
  assert.doesNotMatch(await logOf(members.mia, { job_id: 1 }), /there is no/);
  assert.deepEqual(await outsiders.oli.run(jobs.events, { job_id: 1 }), []);
  assert.equal((await members.mia.run(jobs.events, { job_id: 1, limit: 1 })).length, 1);
  const taken = { job_id: 1, name: null };
  assert.deepEqual(await outsiders.oli.run(jobs.downloadLogs, taken), {});
  assert.deepEqual(Object.keys(await members.mia.run(jobs.downloadLogs, taken)), ["1"]);
  await assert.rejects(outsiders.oli.run(jobs.cancel, { job_ids: [1] }), {
    message: "there is no managed job 1; list them with: outrigger jobs queue",
  });
});

test("a name that is taken where the caller cannot look is refused", async () => {
  const { outsiders } = team;

  await assert.rejects(outsiders.oli.run(clusters.launch, demo), {
    type: "ConflictError",
    message: "the name veiled is taken by a cluster in a workspace that is not yours",
  });
});

test("nobody launches into a workspace that is not theirs", async () => {
  const { outsiders } = team;

  await assert.rejects(
    outsiders.oli.run(clusters.launch, { ...demo, cluster_name: "x", ...inTeam }),
    { type: "PermissionDeniedError", message: /there is no workspace "team"; yours: default$/ },
  );
});

test("viewers get no key to a node, and no file of one", async () => {
  const { members, viewer } = team;
  const keysFor = async (caller: Calls) =>
    (await caller.run(clusters.status, { include_credentials: true }))[0]?.credentials ?? null;
  const fetchAs = async (caller: Calls) =>
    (await caller.http("POST", "/download", { body: { folder_paths: ["veiled:x"] } })).status;

  assert.notEqual(await keysFor(members.mia), null);
  assert.equal(await keysFor(viewer), null);
  assert.equal(await fetchAs(viewer), 403);
});

test("members use what is in their workspace, and viewers look at it", async () => {
  const { world, members, viewer } = team;
  const input = { cluster_name: "veiled" };

  assert.equal((await viewer.run(clusters.queue, input)).length, 0);
  const { status, json } = await viewer.http("POST", "/stop", { body: input });
  assert.equal(status, 403);
  assert.match(String(json["detail"]), /^stop needs the role user; vic has the role viewer/);
  const headers = { "x-skypilot-api-version": "62" };
  const existing = await viewer.http("POST", "/stop", { body: input, headers });
  const id = existing.headers["x-skypilot-request-id"] ?? "";
  await assert.rejects(viewer.get(clusters.stop, id), { message: /^stop needs the role user/ });
  await members.mia.run(clusters.stop, input);
  assert.equal((await world.cluster("veiled")).status, "STOPPED");
});

test("requests are seen by those who made them, and by administrators", async () => {
  const { launch, members, viewer } = team;
  const listed = async (caller: Calls) =>
    (await caller.http("GET", "/api/status?all_status=true")).text.includes(launch);
  const asked = async (caller: Calls, path: string) =>
    (await caller.http("GET", `/api/${path}?request_id=${launch}&follow=false`)).status;

  assert.deepEqual(
    [await listed(members.ann), await listed(members.ada), await listed(members.mia)],
    [true, true, false],
  );
  for (const path of ["get", "stream"]) {
    assert.equal(await asked(members.ann, path), 200);
    assert.equal(await asked(members.ada, path), 200);
    assert.equal(await asked(members.mia, path), 404);
    assert.equal(await asked(viewer, path), 404);
  }
  assert.deepEqual(await members.mia.run(requests.cancel, { request_ids: null }), []);
});
