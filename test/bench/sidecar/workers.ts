import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { listProcesses } from "../../../common/process-tree.ts";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { residentMib } from "../measure.ts";
import { startUpstream } from "./companions.ts";
import { isInstalled } from "./machine.ts";
import { freePort, untilAnswering } from "./ports.ts";
import { startSidecar } from "./proxies.ts";
import { runWrk, wrk } from "./requests.ts";
import { mapInBatches, medianOf, ratioTo } from "./rounds.ts";

/** What both are asked. A refusal needs no upstream, which takes a share of the same cores. */
const loads = {
  "small GET": { inFlight: 256, bodyBytes: 0, answerBytes: 2, hasWrongKey: false },
  "401 for a wrong key": { inFlight: 256, bodyBytes: 0, answerBytes: 2, hasWrongKey: true },
};
const counts = [1, 2];
const settleMs = 3_000;

type Subject = Awaited<ReturnType<typeof startWith>>;

/** What two workers serve, compared with one, and the memory they take at rest. Both may use every core. */
export async function workers(lab: Lab): Promise<Figure[]> {
  const upstream = await startUpstream(lab);
  const sidecars: Subject[] = [];
  for (const count of counts) sidecars.push(await startWith(lab, count, upstream));
  await sleep(settleMs, undefined, { signal: lab.signal });
  const figures: Figure[] = sidecars.map(({ name, pid }) => ({
    ...{ what: `${name}: memory of all processes at rest`, measured: familyMib(pid), unit: "MiB" },
  }));
  if (!isInstalled(wrk)) return figures;
  for (const what of Object.keys(loads) as (keyof typeof loads)[])
    figures.push(...(await ratesOf(lab, what, sidecars)));
  return figures;
}

async function startWith(lab: Lab, count: number, upstream: number) {
  const own = await freePort();
  const env = { OUTRIGGER_SIDECAR_WORKERS: `${count}` };
  const child = startSidecar(lab, { own, upstream }, env);
  child.stderr?.pipe(process.stderr, { end: false });
  await untilAnswering(own, lab.signal);
  return { name: `--workers ${count}`, port: own, pid: child.pid ?? 0 };
}

async function ratesOf(
  lab: Lab,
  what: keyof typeof loads,
  sidecars: readonly Subject[],
): Promise<Figure[]> {
  const samples = await mapInBatches(sidecars, ({ port }) => runWrk(lab, loads[what], port));
  const rate = ({ requests, us }: { requests: number; us: number }) => requests / (us / 1e6);
  const [one = "", two = ""] = sidecars.map(({ name }) => name);
  const label = `${what}, ${loads[what].inFlight} in flight on ${availableParallelism()} cores`;
  const alone = [one, two].map((name) => ({
    ...{ what: `${label}: ${name}`, measured: medianOf(samples, name, rate), unit: "/s" },
  }));
  const measured = ratioTo(samples, one, rate, two);
  return [...alone, { what: `${label}: ${two} to ${one}`, measured, unit: "×" }];
}

/** The resident memory of a process and its children; pages that they share count for each. */
const familyMib = (pid: number): number =>
  listProcesses()
    .filter((one) => one.pid === pid || one.parent === pid)
    .reduce((sum, one) => sum + residentMib(one.pid), 0);
