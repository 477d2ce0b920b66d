import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { openDatabase } from "../../../control/db/open.ts";
import { addEndedJobs } from "../../helpers/ended-jobs.ts";
import type { Figure } from "../figures.ts";
import { type Control, caller, type Lab } from "../lab.ts";
import { median, quantile, timeOf, timesOf } from "../measure.ts";
import { submit } from "./managed.ts";

const jobs = 100_000;
const oneJob = { OUTRIGGER_MANAGED_JOBS_AT_MOST: "1" };
const launchesTimed = 50;
const pipeline = "name: pipe\n---\nname: a\nrun: 'true'\n---\nname: b\nrun: 'true'";
const often = { warmUps: 20, samples: 300 };
const filtered = { warmUps: 5, samples: 200 };

/** A page of many managed jobs, and what their number does to the submission of one more. */
export async function jobLists(lab: Lab): Promise<Figure[]> {
  const empty = await lab.control("bundle", undefined, oneJob);
  const home = lab.folder();
  await addManagedJobs(home);
  const full = await lab.control("bundle", home, oneJob);
  const page = (input: object) => () =>
    full.client.callAndGet(rows.queueV2, { all_users: true, limit: 50, ...input });
  const first = await timesOf(page({ page: 1 }), often);
  const middle = await timesOf(page({ page: 1_000 }), often);
  const finished = await timesOf(page({ page: 1, statuses: ["SUCCEEDED"] }), often);
  const named = await timesOf(page({ page: 1, name_match: "ENC" }), filtered);
  const sorted = await timesOf(page({ page: 1, name_match: "ENC", sort_by: "job_name" }), filtered);
  const nobodys = await timesOf(page({ page: 1, user_match: "nobody" }), filtered);
  const [alone = [], beside = []] = await launches(lab, [empty, full]);
  // Counts of tasks no longer say how many jobs there are.
  await full.client.callAndGet(rows.launch, { task: pipeline, name: null });
  const beyond = await timesOf(page({ page: 1, statuses: ["SUCCEEDED"] }), often);
  const of = `queue of ${jobs} managed jobs`;
  return [
    ...figuresOf(`${of}, first page`, first),
    ...figuresOf(`${of}, page 1,000`, middle),
    ...figuresOf(`${of}, those that succeeded`, finished),
    ...figuresOf(`${of}, those with a part of a name`, named),
    ...figuresOf(`${of}, those with a part of a name, by name`, sorted),
    ...figuresOf(`${of}, those of a user who has none`, nobodys),
    ...figuresOf(`${of} and a pipeline, those that succeeded`, beyond),
    { what: "jobs launch", measured: median(alone), unit: "ms" },
    {
      what: `jobs launch beside ${jobs} jobs, to without`,
      measured: median(beside) / median(alone),
      unit: "x",
      target: { atMost: 1.2 },
    },
  ];
}

const figuresOf = (what: string, times: number[]): Figure[] => [
  { what: `${what}: p50`, measured: quantile(times, 0.5), unit: "ms" },
  { what: `${what}: p99`, measured: quantile(times, 0.99), unit: "ms", target: { atMost: 50 } },
];

/** How long it takes to submit a job that has to wait, in turn to each of these controls. */
async function launches(lab: Lab, controls: readonly Control[]): Promise<number[][]> {
  for (const { client } of controls) {
    await submit(client, "sleep 1000");
    await untilRuns(lab, client);
  }
  const times: number[][] = controls.map(() => []);
  for (let turn = 0; turn < launchesTimed; turn += 1)
    for (const [index, { client }] of controls.entries())
      times[index]?.push(await timeOf(() => submit(client, "true")));
  return times;
}

async function untilRuns({ signal }: Lab, client: Control["client"]): Promise<void> {
  for (;;) {
    const { jobs } = await client.callAndGet(rows.queueV2, { page: 1, limit: 1 });
    if (jobs[0]?.status === "RUNNING") return;
    await sleep(100, undefined, { signal });
  }
}

/** Jobs that have ended. */
async function addManagedJobs(home: string): Promise<void> {
  const db = await openDatabase(join(home, "control/state.db"));
  await addEndedJobs(db, Array<string>(jobs / 1_000).fill("bench"), caller);
  await db.destroy();
}
