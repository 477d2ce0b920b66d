import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { cpuMs, residentMib } from "../measure.ts";
import { addClusters } from "../rows.ts";

const clusters = 10_000;
/** Three looks of each reconciler begin with the start. */
const settleMs = 16_000;
/** Several looks of each. */
const measureMs = 30_000;

/** What control costs that looks after many clusters of which none has anything to be done. */
export async function idleRows(lab: Lab): Promise<Figure[]> {
  const empty = await measure(lab, 0);
  const full = await measure(lab, clusters);
  return [
    { what: "idle control, no cluster: share of a core", measured: empty.share, unit: "%" },
    {
      what: `idle control, ${clusters} stopped clusters: share of a core`,
      measured: full.share,
      unit: "%",
      target: { atMost: 2 },
    },
    { what: `idle control, ${clusters} stopped clusters`, measured: full.mib, unit: "MiB" },
  ];
}

async function measure(lab: Lab, count: number): Promise<{ share: number; mib: number }> {
  const home = lab.folder();
  await addClusters(home, count);
  const { pid, stop } = await lab.control("bundle", home);
  await sleep(settleMs, undefined, { signal: lab.signal });
  const cpuBefore = cpuMs(pid);
  const since = performance.now();
  await sleep(measureMs, undefined, { signal: lab.signal });
  const share = ((cpuMs(pid) - cpuBefore) / (performance.now() - since)) * 100;
  const mib = residentMib(pid);
  await stop();
  return { share, mib };
}
