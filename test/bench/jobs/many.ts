import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { nodeIdOf } from "../../../control/doors/node-id.ts";
import { openUnixDoor } from "../../../control/doors/unix.ts";
import type { NodeState } from "../../../control/providers/provider.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { timeOf } from "../measure.ts";
import { useMachinesHere } from "./here.ts";

const jobs = 10_000;
const inOneLaunch = 1_000;

/**
 * Managed jobs from their submission until nothing is left of them, on machines that do nothing and whose jobs end at once.
 * Control and its caller are one process. Its own work is told apart from that of HTTP: agents are called as functions
 * first, then over their sockets in another process.
 */
export async function manyJobs(lab: Lab): Promise<Figure[]> {
  const folder = lab.folder();
  const own = await runJobs(lab, useMachinesHere);
  const whole = await runJobs(lab, (world) =>
    useMachines(world, lab.load("jobs/machines.ts", folder, "at once"), folder),
  );
  const what = `${jobs} managed jobs that do nothing`;
  const cpu = "CPU time of control for each";
  return [
    { what, measured: own.perSecond, unit: "jobs/s", target: { atLeast: 300 } },
    { what: `${what}: ${cpu}`, measured: own.cpuMs, unit: "ms" },
    { what: `${what}, over HTTP`, measured: whole.perSecond, unit: "jobs/s" },
    { what: `${what}, over HTTP: ${cpu}`, measured: whole.cpuMs, unit: "ms" },
  ];
}

async function runJobs(
  lab: Lab,
  use: (world: World) => void,
): Promise<{ perSecond: number; cpuMs: number }> {
  await using cleanings = new AsyncDisposableStack();
  const world = await testWorld({ after: (clean) => cleanings.defer(clean) });
  use(world);
  const before = process.cpuUsage();
  const ms = await timeOf(async () => {
    const launch = { task: "name: bench\nrun: 'true'", name: null, num_jobs: inOneLaunch };
    for (let at = 0; at < jobs; at += inOneLaunch) await world.run(rows.launch, launch);
    while ((await openJobs(world)) > 0) await sleep(50, undefined, { signal: lab.signal });
  });
  const { user, system } = process.cpuUsage(before);
  return { perSecond: jobs / (ms / 1_000), cpuMs: (user + system) / 1_000 / jobs };
}

async function openJobs({ ctx }: World): Promise<number> {
  const { open } = await ctx.db
    .selectFrom("job_tasks")
    .select(({ fn }) => fn.countAll<number>().as("open"))
    .where("settled_at", "is", null)
    .executeTakeFirstOrThrow();
  return open;
}

/** Has the machines be those of another process. */
export function useMachines({ provider }: World, process: ChildProcess, folder: string): void {
  const nodes = new Map<string, NodeState>();
  const orders = new Map<string, () => void>();
  process.on("message", (order: string) => orders.get(order)?.());
  const done = (order: string) =>
    new Promise<void>((resolve) => {
      orders.set(order, resolve);
      process.send(order);
    }).finally(() => orders.delete(order));
  Object.assign(provider, {
    async create(cluster, rank) {
      const id = nodeIdOf(cluster, rank);
      if (!nodes.has(id)) await done(`create ${id}`);
      nodes.set(id, { id, rank, state: "running", address: "10.0.0.1" });
    },
    list: async (cluster) => [nodes.get(nodeIdOf(cluster, 0)) ?? []].flat(),
    async destroy(id) {
      if (nodes.delete(id)) await done(`destroy ${id}`);
    },
    door: (id) => openUnixDoor(join(folder, `${id}.sock`)),
  } satisfies Partial<World["provider"]>);
}
