import { availableParallelism, loadavg } from "node:os";
import { access } from "./access.ts";
import { agentMemory } from "./agent-memory.ts";
import { balancerBenches } from "./balancer/benches.ts";
import { cliStart } from "./cli-start.ts";
import { containers } from "./containers.ts";
import { controlMemory } from "./control-memory.ts";
import { hangingCreations } from "./core/hanging.ts";
import { idleRows } from "./core/idle-rows.ts";
import { manyLaunches } from "./core/many-launches.ts";
import { type Figure, tableOf } from "./figures.ts";
import { firstLine } from "./first-line.ts";
import { followDelay } from "./follow-delay.ts";
import { followVolume } from "./follow-volume.ts";
import { jobBenches } from "./jobs/benches.ts";
import { pendingPods, runningPods } from "./kubernetes-pods.ts";
import { type Lab, openLab, openShared } from "./lab.ts";
import { lists } from "./lists.ts";
import { longPolls } from "./long-polls.ts";
import { pods } from "./pods.ts";
import { preemption } from "./preemption.ts";
import { roundTrips } from "./round-trips.ts";
import { serviceBenches } from "./services.ts";
import { sidecarBenches } from "./sidecar/benches.ts";
import { slurmBench } from "./slurm.ts";
import { sshBenches } from "./ssh/benches.ts";
import { workdir } from "./workdir.ts";

/**
 * Every bench by the name it is asked for with: `npm run bench -- round-trips lists`. What several
 * names begin with asks for all of them: `npm run bench -- sidecar`.
 */
const benches: Record<string, (lab: Lab) => Promise<Figure[]>> = {
  "round-trips": roundTrips,
  access,
  lists,
  "first-line": firstLine,
  "follow-delay": followDelay,
  "follow-volume": followVolume,
  "control-memory": controlMemory,
  "long-polls": longPolls,
  preemption,
  "agent-memory": agentMemory,
  "cli-start": cliStart,
  "core-slow": hangingCreations,
  "core-launches": manyLaunches,
  "idle-rows": idleRows,
  "kubernetes-pods": pendingPods,
  "kubernetes-pods-running": runningPods,
  pods,
  workdir,
  containers,
  ...sidecarBenches,
  ...balancerBenches,
  ...serviceBenches,
  ...jobBenches,
  ...sshBenches,
  slurm: slurmBench,
};

/** No bench takes longer. */
const limitMs = 300_000;

const names = Object.keys(benches);
const namesFor = (asked: string) =>
  names.filter((name) => name === asked || name.startsWith(`${asked}-`));
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => namesFor(name).length === 0);
if (unknown.length > 0) {
  console.error(`no bench ${unknown.join(", ")}; there are ${names.join(", ")}`);
  process.exit(2);
}

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => interrupted.abort());
using shared = openShared();
const figures: Figure[] = [];
for (const name of asked.length > 0 ? asked.flatMap(namesFor) : names)
  figures.push(...(await runBench(name)));
console.log(`\n${tableOf(figures)}`);

/** The figures of one bench; none when it breaks, which fails the whole run. */
async function runBench(name: string): Promise<Figure[]> {
  const load = loadavg()[0]?.toFixed(1);
  console.error(`${name} (${availableParallelism()} cores, load ${load})`);
  const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(limitMs)]);
  await using lab = openLab(shared.folder, signal);
  try {
    interrupted.signal.throwIfAborted();
    return (await benches[name]?.(lab)) ?? [];
  } catch (error) {
    console.error(`${name} broke off:`, error);
    process.exitCode = 1;
    return [];
  }
}
