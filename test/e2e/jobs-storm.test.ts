import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { clusterOperations as clusters } from "../../contract/operations/clusters.ts";
import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { poolOperations as pools } from "../../contract/operations/pools.ts";
import type { ManagedJobRecord } from "../../contract/records/jobs.ts";
import { until } from "../helpers/agent.ts";
import { startControl, type TestControl } from "../helpers/programs.ts";
import { assertNothingIsLeft } from "./service.ts";

const seed = Number(process.env["STORM_SEED"] ?? randomInt(2 ** 31));
/** So many jobs are there at a time. */
const jobsAtOnce = Number(process.env["STORM_JOBS"] ?? 8);
const seconds = Number(process.env["STORM_SECONDS"] ?? 12);

/** At least so many faults of each kind are tried, and so many of them happen. */
const triesAtLeast = 5;
const faultsAtLeast = 2;

type Status = ManagedJobRecord["status"];

/** What a job is submitted as, and how each of its tasks must end. */
interface Kind {
  readonly tasks: (script: Script) => readonly object[];
  readonly pool?: string;
  readonly ends: readonly Status[];
}

/** A script that keeps a ledger of a task, and ends with an exit code, or what decides on one. */
type Script = (name: string, exit: string) => string;

const recovers = (recovery: object) => ({ resources: { job_recovery: recovery } });
const one = (script: Script, exit: string, more: object = {}) => [
  { name: "one", run: script("one", exit), ...more },
];

const kinds: Readonly<Record<string, Kind>> = {
  succeeds: { tasks: (script) => one(script, "0"), ends: ["SUCCEEDED"] },
  fails: { tasks: (script) => one(script, "7"), ends: ["FAILED"] },
  "fails twice": {
    tasks: (script) => one(script, "9", recovers({ max_restarts_on_errors: 1 })),
    ends: ["FAILED"],
  },
  "is tried again": {
    tasks: (script) =>
      one(script, '$(mkdir "$mark" && echo 33 || echo 0)', recovers({ recover_on_exit_codes: 33 })),
    ends: ["SUCCEEDED"],
  },
  "is a pipeline": {
    tasks: (script) => [
      { name: "pipe" },
      { name: "first", run: script("first", "0") },
      { name: "second", run: script("second", "0") },
    ],
    ends: ["SUCCEEDED", "SUCCEEDED"],
  },
  "is a group": {
    tasks: (script) => [
      { name: "lab", execution: "parallel", primary_tasks: ["trainer"] },
      { name: "trainer", run: script("trainer", "0") },
      { name: "watcher", run: "sleep 1000" },
    ],
    ends: ["SUCCEEDED", "CANCELLED"],
  },
  "is in a pool": { tasks: (script) => one(script, "0"), pool: "warm", ends: ["SUCCEEDED"] },
};

const title = `machines are taken away and control is killed while jobs run; STORM_SEED=${seed}`;

test(title, { timeout: 900_000 }, async (t) => {
  const env = { OUTRIGGER_MANAGED_JOBS_AT_MOST: "10" };
  const control = await startControl(t, { env });
  const { client, home } = control;
  const ledger = join(home, "ledger");
  mkdirSync(ledger);
  const pool = JSON.stringify({ name: "warm", pool: { workers: 2 }, setup: "true" });
  await client.callAndGet(pools.apply, { pool_name: "warm", task: pool, mode: "rolling" });
  const all = Object.values(kinds);
  const jobs = new Map<number, Kind>();
  const submitNext = async () => {
    const kind = all[jobs.size % all.length] as Kind;
    jobs.set(await submit(control, kind, ledger), kind);
  };

  const faults = await storm(control, submitNext);
  const found = await untilOver(control);

  for (const [what, count] of Object.entries(faults))
    assert.ok(count >= faultsAtLeast, `${what}: ${count}`);
  assert.ok(found.some(({ recovery_count: recoveries }) => (recoveries ?? 0) > 0));

  assert.deepEqual(
    readdirSync(ledger).filter((name) => name.startsWith("double")),
    [],
  );
  for (const [id, { ends }] of jobs) {
    const tasks = found.filter(({ job_id }) => job_id === id);
    assert.deepEqual(
      tasks.map(({ status }) => status),
      ends,
      JSON.stringify(tasks),
    );
    for (const task of tasks) assertBegun(ledger, task);
  }
  await assertCounted(control, found, jobs.size);
  await client.callAndGet(pools.down, { pool_names: ["warm"] });
  const isGone = async () =>
    (await client.callAndGet(pools.status, { pool_names: null }))[0] === undefined;
  await until(async () => (await isGone()) || undefined);
  assertNothingIsLeft(control);
});

async function submit({ client }: TestControl, kind: Kind, ledger: string): Promise<number> {
  const documents = kind.tasks((name, exit) => scriptOf(ledger, name, exit));
  const task = documents.map((one) => JSON.stringify(one)).join("\n---\n");
  const { job_id } = await client.callAndGet(rows.launch, {
    ...{ task, name: null, pool: kind.pool ?? null },
  });
  return job_id?.[0] ?? assert.fail("no job was submitted");
}

/** A script that leaves a mark if another attempt at the same task is still running. */
const scriptOf = (ledger: string, name: string, exit: string): string => `
key="$OUTRIGGER_MANAGED_JOB_ID-${name}"
mark="${ledger}/mark-$key"
live="${ledger}/live-$key"
if grep -qz "^OUTRIGGER_TASK_ID=$OUTRIGGER_TASK_ID$" "/proc/$(cat "$live" 2> /dev/null)/environ" 2> /dev/null
then touch "${ledger}/double-$key"; fi
echo $$ > "$live"
echo begin >> "${ledger}/runs-$key"
sleep 2
rm "$live"
exit ${exit}
`;

type Fault = "notice" | "lose" | "kill";

/**
 * Machines go with and without a notice, and control is killed, in an order that the seed decides; jobs that have ended
 * are followed by other ones. How often each fault happened.
 */
async function storm(
  control: TestControl,
  submitNext: () => Promise<void>,
): Promise<Record<Fault, number>> {
  const tried: Record<Fault, (() => Promise<boolean>)[]> = { notice: [], lose: [], kill: [] };
  const end = performance.now() + seconds * 1_000;
  const actions = fc.sample(
    fc.record({
      what: fc.oneof(
        { weight: 2, arbitrary: fc.constant("notice" as const) },
        { weight: 2, arbitrary: fc.constant("lose" as const) },
        { weight: 1, arbitrary: fc.constant("kill" as const) },
      ),
      afterMs: fc.integer({ min: 200, max: 1_500 }),
      which: fc.nat(),
    }),
    { seed, numRuns: 1_000 },
  );
  for (const { what, afterMs, which } of actions) {
    const areEnough = Object.values(tried).every(({ length }) => length >= triesAtLeast);
    if (areEnough && performance.now() > end) break;
    const { jobs } = await control.client.callAndGet(rows.queueV2, { skip_finished: true });
    for (let open = new Set(jobs.map(({ job_id }) => job_id)).size; open < jobsAtOnce; open += 1)
      await submitNext();
    await sleep(afterMs);
    if (what === "kill") {
      await control.end("SIGKILL");
      await control.start();
      tried.kill.push(async () => true);
    } else tried[what].push(...(await takeAway(control, what === "lose", which)));
  }
  const happened = async (what: Fault) =>
    (await Promise.all(tried[what].map((hasHappened) => hasHappened()))).filter(Boolean).length;
  return {
    notice: await happened("notice"),
    lose: await happened("lose"),
    kill: await happened("kill"),
  };
}

const goneTypes = ["ClusterDoesNotExist", "ClusterNotUpError", "UnreachableError"];

/** Takes the machines of a job that runs, if one does; what is answered says whether that has happened. */
async function takeAway({ client }: TestControl, lose: boolean, which: number) {
  const { jobs } = await client.callAndGet(rows.queueV2, { skip_finished: true });
  const running = jobs.flatMap(({ status, current_cluster_name: name }) =>
    status === "RUNNING" && name !== null ? name : [],
  );
  const cluster_name = running[which % running.length];
  if (cluster_name === undefined) return [];
  const id = await client.call(clusters.preempt, { cluster_name, lose, notice_seconds: 1 });
  const hasHappened = () =>
    client.get(id).then(
      () => true,
      (error) => {
        // Its job may have ended meanwhile, or its machine been taken away.
        if (goneTypes.includes(error.type)) return false;
        throw error;
      },
    );
  return [hasHappened];
}

const untilOver = ({ client }: TestControl): Promise<readonly ManagedJobRecord[]> =>
  until(async () => {
    const { jobs } = await client.callAndGet(rows.queueV2, { sort_order: "asc" });
    return jobs.every(({ schedule_state }) => schedule_state === "DONE") ? jobs : undefined;
  }, 600_000);

/** A task ran at least once, and began again only where that was counted. */
function assertBegun(
  ledger: string,
  { job_id, task_name, recovery_count }: ManagedJobRecord,
): void {
  const file = join(ledger, `runs-${job_id}-${task_name}`);
  if (task_name === "watcher") return;
  assert.ok(existsSync(file), `task ${task_name} of job ${job_id} never ran`);
  const begun = readFileSync(file, "utf8").trim().split("\n").length;
  const most = (recovery_count ?? 0) + 1;
  assert.ok(begun <= most, `task ${task_name} of job ${job_id} began ${begun} times of ${most}`);
}

async function assertCounted(
  { client }: TestControl,
  found: readonly ManagedJobRecord[],
  submitted: number,
): Promise<void> {
  const { status_counts, total } = await client.callAndGet(rows.queueV2, { page: 1, limit: 1 });
  const counted = Map.groupBy(found, ({ status }) => status);
  const counts = [...counted].map(([status, tasks]) => [status, tasks.length]);
  assert.deepEqual([status_counts, total], [Object.fromEntries(counts), submitted]);
}
