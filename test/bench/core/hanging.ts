import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { median, quantile, timeOf } from "../measure.ts";

const hanging = 64;
const rounds = 6;
const downsEach = 8;
const task = "run: echo hi";

/** How long `down` takes, with and without 64 creations that hang at the same provider, in turns. */
export async function hangingCreations(lab: Lab): Promise<Figure[]> {
  await using cleanings = new AsyncDisposableStack();
  const world = await testWorld({ after: (clean) => cleanings.defer(clean) });
  await timesOfDown(world, "warm");
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    lab.signal.throwIfAborted();
    alone.push(...(await timesOfDown(world, `alone-${round}`)));
    beside.push(...(await timesOfDown(world, `beside-${round}`, `slow-${round}`)));
  }
  const what = `down of a cluster, ${hanging} creations hang`;
  const ratio = median(beside) / median(alone);
  return [
    { what: `${what}: to without, median`, measured: ratio, unit: "x", target: { atMost: 1.2 } },
    { what: `${what}: median`, measured: median(beside), unit: "ms" },
    { what: `${what}: p99`, measured: quantile(beside, 0.99), unit: "ms" },
  ];
}

/** The times of some teardowns one after another, in ms; `slow` names the clusters that hang meanwhile. */
async function timesOfDown(world: World, name: string, slow?: string): Promise<number[]> {
  const names = Array.from({ length: downsEach }, (_, index) => ({
    cluster_name: `${name}-${index}`,
  }));
  for (const of of names) await world.run(rows.launch, { ...of, task });
  const release = slow === undefined ? () => {} : world.provider.holds("create");
  const launches = slow === undefined ? [] : await launchAll(world, slow);
  const times: number[] = [];
  for (const of of names) times.push(await timeOf(() => world.run(rows.down, of)));
  release();
  for (const { id, cluster_name } of launches) {
    await world.get(rows.launch, id);
    await world.run(rows.down, { cluster_name });
  }
  return times;
}

/** Starts to launch clusters; resolves once the first creation hangs. */
async function launchAll(world: World, name: string) {
  const launches = await Promise.all(
    Array.from({ length: hanging }, async (_, index) => {
      const cluster_name = `${name}-${index}`;
      return { cluster_name, id: await world.call(rows.launch, { cluster_name, task }) };
    }),
  );
  await world.provider.held("create");
  return launches;
}
