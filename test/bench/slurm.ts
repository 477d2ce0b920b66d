import { once } from "node:events";
import { mkdirSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { readConfig } from "../../control/config.ts";
import { openForwards } from "../../control/doors/ssh/forwards.ts";
import type { Offer } from "../../control/providers/provider.ts";
import { localLogin } from "../../control/providers/slurm/login.ts";
import type { Label } from "../../control/providers/slurm/queue.ts";
import type { Site } from "../../control/providers/slurm/site.ts";
import { slurmProvider } from "../../control/providers/slurm/slurm.ts";
import { type SlurmLab, startSlurm } from "../helpers/slurm.ts";
import { down, follow, launch } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { timeOf } from "./measure.ts";

const pairs = 10;
/** Slurm starts jobs once a second, so each of a pair begins in another part of that second. */
const settleMs = (pair: number): number => 2_000 + (1_000 * pair) / pairs;
const allocations = 500;

/** A real Slurm, where control runs; as root, with the packages of its tests. */
export async function slurmBench(lab: Lab): Promise<Figure[]> {
  await using cleanings = new AsyncDisposableStack();
  const slurm = await startSlurm({ after: (clean) => cleanings.defer(clean) });
  const firstLines = await firstLine(lab, slurm);
  return [...firstLines, ...(await listing(lab, slurm))];
}

/** Pairs of a launch and a bare job of sbatch, one after the other. */
async function firstLine(lab: Lab, slurm: SlurmLab): Promise<Figure[]> {
  const settings = { OUTRIGGER_SLURM: "local", OUTRIGGER_SLURM_CONF: slurm.conf };
  const { client } = await lab.control("bundle", undefined, {
    ...settings,
    OUTRIGGER_SLURM_SCRATCH: lab.folder(),
  });
  const ours: number[] = [];
  const bare: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    await sleep(settleMs(pair), undefined, { signal: lab.signal });
    bare.push(await timeOf(() => bareJob(lab, slurm)));
    await sleep(settleMs(pair), undefined, { signal: lab.signal });
    const name = `new-${pair}`;
    const since = performance.now();
    const { promise: line, resolve } = Promise.withResolvers<number>();
    const job = await launch(client, name, "echo hello", "slurm");
    await follow(client, name, job, () => resolve(performance.now()));
    ours.push((await line) - since);
    await down(client, name);
  }
  const mean = (times: readonly number[]) => times.reduce((sum, ms) => sum + ms, 0) / pairs;
  return [
    { what: "sbatch to the first line of its job: mean", measured: mean(bare), unit: "ms" },
    { what: "launch on Slurm to the first line: mean", measured: mean(ours), unit: "ms" },
    {
      what: "the same beyond sbatch",
      measured: mean(ours) - mean(bare),
      unit: "ms",
      target: { atMost: 1_500 },
    },
  ];
}

async function bareJob(lab: Lab, slurm: SlurmLab): Promise<void> {
  const folder = lab.folder();
  const output = join(folder, "output");
  using watcher = Object.assign(watch(folder), { [Symbol.dispose]: () => watcher.close() });
  const isThere = () => readFileSync(output, { encoding: "utf8", flag: "a+" }).includes("hello");
  await slurm.run("sbatch", "--exclusive", `--output=${output}`, "--wrap=echo hello");
  while (!isThere()) await once(watcher, "change", { signal: lab.signal });
}

/** Allocations of as many clusters, as an array of jobs would be; how often Slurm is asked for all of them. */
async function listing(lab: Lab, slurm: SlurmLab): Promise<Figure[]> {
  const home = lab.folder();
  mkdirSync(join(home, "slurm"));
  const env = { OUTRIGGER_HOME: home, OUTRIGGER_SLURM_CONF: slurm.conf, PATH: process.env["PATH"] };
  const login = localLogin(readConfig(env));
  let calls = 0;
  const site: Site = {
    ...{ name: "local", scratch: home, controlId: "bench", epoch: 1, forwards: openForwards() },
    login: {
      ...login,
      run(...words) {
        calls += 1;
        return login.run(...words);
      },
    },
  };
  const provider = slurmProvider([site], pino({ level: "silent" }));
  const [offer] = await provider.offers({ nodes: 1 }, lab.signal);
  if (offer === undefined) throw new Error("Slurm offers nothing");
  await submitAll(slurm, offer);
  calls = 0;
  let found = 0;
  const ms = await timeOf(async () => {
    found = (await provider.find?.(lab.signal))?.length ?? 0;
  });
  if (found !== allocations) throw new Error(`${found} allocations are found`);
  const what = `${allocations} allocations listed`;
  return [
    { what, measured: ms, unit: "ms" },
    { what: `${what}: calls`, measured: calls, unit: "calls", target: { atMost: 1 } },
  ];
}

async function submitAll(slurm: SlurmLab, offer: Offer): Promise<void> {
  const script = `for ((n = 0; n < ${allocations}; n += 1)); do
  sbatch --hold --quiet --output=/dev/null --comment="\${1//ID/c$n}" --wrap=true; done`;
  const label: Label = {
    ...{ control: "bench", id: "ID", cluster: { name: "ID", nodes: 1, offer } },
  };
  await slurm.run("bash", "-c", script, "bash", JSON.stringify(label));
}
