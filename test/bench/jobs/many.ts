import { setTimeout as sleep } from "node:timers/promises";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { timeOf } from "../measure.ts";

const jobs = 500;

/**
 * Managed jobs from their submission until nothing is left of them, on machines in memory whose jobs end at once. Control,
 * its callers and the agents of all machines are one process.
 */
export async function manyJobs(lab: Lab): Promise<Figure[]> {
  await using cleanings = new AsyncDisposableStack();
  const world = await testWorld({ after: (clean) => cleanings.defer(clean) });
  endAtOnce(world);
  const before = process.cpuUsage();
  const ms = await timeOf(async () => {
    const task = "name: bench\nrun: 'true'";
    await world.run(rows.launch, { task, name: null, num_jobs: jobs });
    while ((await openJobs(world)) > 0) await sleep(50, undefined, { signal: lab.signal });
  });
  const { user, system } = process.cpuUsage(before);
  return [
    {
      what: `${jobs} managed jobs that do nothing`,
      measured: jobs / (ms / 1_000),
      unit: "jobs/s",
      target: { atLeast: 300 },
    },
    {
      what: `${jobs} managed jobs that do nothing: CPU time of each`,
      measured: (user + system) / 1_000 / jobs,
      unit: "ms",
    },
  ];
}

async function openJobs({ ctx }: World): Promise<number> {
  const { open } = await ctx.db
    .selectFrom("job_tasks")
    .select(({ fn }) => fn.countAll<number>().as("open"))
    .where("settled_at", "is", null)
    .executeTakeFirstOrThrow();
  return open;
}

/** Has each job succeed once it was submitted to its machine. */
function endAtOnce({ provider }: World): void {
  const { create } = provider;
  provider.create = async (cluster, rank, signal) => {
    await create.call(provider, cluster, rank, signal);
    const agent = provider.agentOf(cluster.id, rank);
    agent.node.onCall = (name) => {
      if (name === "submit") setImmediate(() => agent.end(1, "SUCCEEDED"));
    };
  };
}
