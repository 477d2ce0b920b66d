import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { openDatabase } from "../../../control/db/open.ts";
import { addJobs } from "../../../control/jobs/submit-store.ts";
import type { Figure } from "../figures.ts";
import { caller, type Lab } from "../lab.ts";
import { median, quantile, timesOf } from "../measure.ts";
import { isOver, submit } from "./managed.ts";

const jobs = 100_000;
const atOnce = 1_000;
const often = { warmUps: 20, samples: 300 };

/** A page of many managed jobs, and what their number does to the submission of one more. */
export async function jobLists(lab: Lab): Promise<Figure[]> {
  const empty = await lab.control("bundle");
  const home = lab.folder();
  await addManagedJobs(home);
  const full = await lab.control("bundle", home);
  const page = (input: object) => () =>
    full.client.callAndGet(rows.queueV2, { all_users: true, limit: 50, ...input });
  const first = await timesOf(page({ page: 1 }), often);
  const middle = await timesOf(page({ page: 1_000 }), often);
  const finished = await timesOf(page({ page: 1, statuses: ["SUCCEEDED"] }), often);
  const [alone, beside] = [await launches(lab, empty.client), await launches(lab, full.client)];
  const of = `queue of ${jobs} managed jobs`;
  return [
    ...figuresOf(`${of}, first page`, first),
    ...figuresOf(`${of}, page 1,000`, middle),
    ...figuresOf(`${of}, those that succeeded`, finished),
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

async function launches({ signal }: Lab, client: Parameters<typeof submit>[0]): Promise<number[]> {
  const times = await timesOf(() => submit(client, "true"), { warmUps: 1, samples: 10 });
  const newest = { page: 1, limit: 11 };
  for (;;) {
    const { jobs } = await client.callAndGet(rows.queueV2, newest);
    if (jobs.every(isOver)) return times;
    signal.throwIfAborted();
  }
}

/** Jobs that have ended. */
async function addManagedJobs(home: string): Promise<void> {
  const db = await openDatabase(join(home, "control/state.db"));
  const now = Date.now();
  const seal = { seal: (text: string) => Buffer.from(text), open: String } as never;
  const job = {
    ...{ name: "bench", execution: null, joined: null, pool: null, user: caller },
    ...{ copies: atOnce, workspace: "default", command: "outrigger jobs launch train.yaml" },
    ...{ priority: 0, submittedAt: now, reason: "submitted by bench" },
    document: { yaml: "run: python train.py\n", blobId: null },
    places: { room: atOnce, waiting: { queuedFor: null, queuedRank: null, waitsFor: null } },
  };
  const task = {
    ...{ name: "bench", resources: "H100:8", isPrimary: true, delayMs: 0 },
    ...{ poolId: null, share: null, leaseMs: null, calledBack: null },
  };
  const newId = () => randomBytes(6).toString("hex");
  for (let at = 0; at < jobs; at += atOnce)
    await db.transaction().execute(async (tx) => {
      await addJobs(tx, seal, { ...job, requestId: `r${at}` }, [task], newId);
    });
  await db
    .updateTable("job_tasks")
    .set({ status: "SUCCEEDED", settled_at: now, ended_at: now, started_at: now, attempt: 1 })
    .execute();
  await db.updateTable("job_task_counts").set({ status: "SUCCEEDED" }).execute();
  await db.destroy();
}
