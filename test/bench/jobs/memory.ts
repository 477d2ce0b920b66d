import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { restedMib } from "../measure.ts";
import { submit, untilAll } from "./managed.ts";
import { useMachines } from "./many.ts";

const running = 1_000;
/** What control needs for any job is not counted. */
const runningBefore = 200;
const waiting = 10_000;
const kilobytes = 1_024;

/** What control needs for each managed job that runs, and for each that waits. */
export async function jobMemory(lab: Lab): Promise<Figure[]> {
  const { resident, heap } = await ofRunning(lab);
  const runs = `a managed job that runs, of ${running}`;
  return [
    // With what V8 keeps of the heap that it needed while so many were launched at the same time.
    { what: runs, measured: resident, unit: "KiB", target: { atMost: 30 } },
    { what: `${runs}: what it holds of the heap`, measured: heap, unit: "KiB" },
    {
      what: `a managed job that waits, of ${waiting}`,
      measured: await ofWaiting(lab),
      unit: "KiB",
      target: { atMost: 5 },
    },
  ];
}

/** Control is this process, the agents of all machines another one. */
async function ofRunning(lab: Lab): Promise<{ resident: number; heap: number }> {
  await using cleanings = new AsyncDisposableStack();
  const world = await testWorld({ after: (clean) => cleanings.defer(clean) });
  const folder = lab.folder();
  useMachines(world, lab.load("jobs/machines.ts", folder, "never"), folder);
  const memoryWith = async (jobs: number) => {
    const more = jobs - (await runningIn(world));
    await world.run(rows.launch, { task: "name: bench\nrun: x", name: null, num_jobs: more });
    while ((await runningIn(world)) < jobs) await sleep(50, undefined, { signal: lab.signal });
    world.logged.length = 0;
    const residentMib = await restedMib(process.pid, lab.signal);
    collectGarbage();
    return { residentMib, heapBytes: process.memoryUsage().heapUsed };
  };
  const before = await memoryWith(runningBefore);
  const after = await memoryWith(runningBefore + running);
  return {
    resident: ((after.residentMib - before.residentMib) * kilobytes) / running,
    heap: (after.heapBytes - before.heapBytes) / kilobytes / running,
  };
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
}

async function runningIn({ ctx }: World): Promise<number> {
  const { jobs } = await ctx.db
    .selectFrom("job_tasks")
    .select(({ fn }) => fn.countAll<number>().as("jobs"))
    .where("status", "=", "RUNNING")
    .executeTakeFirstOrThrow();
  return jobs;
}

async function ofWaiting(lab: Lab): Promise<number> {
  const settings = { OUTRIGGER_MANAGED_JOBS_AT_MOST: "1" };
  const { client, pid } = await lab.control("bundle", undefined, settings);
  await submit(client, "sleep 1000");
  await untilAll(client, (jobs) => jobs.every(({ status }) => status === "RUNNING"), lab.signal);
  const before = await restedMib(pid, lab.signal);
  for (let at = 0; at < waiting; at += 1_000) await submit(client, "true", { copies: 1_000 });
  return (((await restedMib(pid, lab.signal)) - before) * kilobytes) / waiting;
}
