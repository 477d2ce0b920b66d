import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The value below which this share of the samples lies: 0.5 is the median. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const index = Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1);
  return sorted[Math.max(index, 0)] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** How many milliseconds the work takes. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

/** How often work is done: some times more to warm up, and no longer than there is time. */
export interface Often {
  readonly warmUps: number;
  readonly samples: number;
}

const patienceMs = 20_000;

/** Does the work again and again, one after the other; the times in ms. */
export async function timesOf(
  work: () => Promise<unknown>,
  { warmUps, samples }: Often,
): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + patienceMs;
  while (times.length < warmUps + samples && performance.now() < end)
    times.push(await timeOf(work));
  return times.slice(warmUps);
}

/** The resident memory of a process in MiB, the unit that `ps` and limits of services count in. */
export function residentMib(pid: number): number {
  const [, kilobytes] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1_024;
}

/** The CPU time that a process has used, in ms: unlike time on the clock the same on a busy machine. */
export function cpuMs(pid: number): number {
  const [own = 0, system = 0] = cpuFields(pid);
  return own + system;
}

/** How much those took of it that this process started, and that have ended. */
export function endedCpuMs(): number {
  const [, , own = 0, system = 0] = cpuFields(process.pid);
  return own + system;
}

function cpuFields(pid: number): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // Source: proc(5), fields 14 to 17 in ticks of 10 ms; field 3 is the first after the name.
  return fields.slice(14 - 3, 18 - 3).map((ticks) => Number(ticks) * 10);
}

/** How large the database of a control plane is, with what it has yet to take from its log. */
export const databaseBytes = (home: string): number =>
  ["state.db", "state.db-wal"]
    .map((name) => statSync(join(home, "control", name)).size)
    .reduce((sum, bytes) => sum + bytes, 0);

/** The resident memory of a process that is left alone until it has settled. */
export async function settledMib(pid: number, signal: AbortSignal): Promise<number> {
  const samples: number[] = [];
  await sleep(3_000, undefined, { signal });
  for (let count = 0; count < 9; count += 1) {
    await sleep(200, undefined, { signal });
    samples.push(residentMib(pid));
  }
  return median(samples);
}

/**
 * The resident memory of a process that is left alone until it gives nothing back any more: V8 shrinks its heap only
 * some 20 s after the work that had let it grow.
 */
export async function restedMib(pid: number, signal: AbortSignal): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let waited = 0; waited < 25; waited += 1) {
    await sleep(1_000, undefined, { signal });
    const now = residentMib(pid);
    if (now < least * 0.99) waited = 0;
    least = Math.min(least, now);
  }
  return least;
}

/** Watches the resident memory of processes while work goes on; the most that each had, in MiB. */
export async function peaksOf(
  pids: readonly number[],
  work: () => Promise<unknown>,
): Promise<number[]> {
  const peaks = pids.map(residentMib);
  const watch = setInterval(() => {
    for (const [index, pid] of pids.entries())
      peaks[index] = Math.max(peaks[index] ?? 0, residentMib(pid));
  }, 50);
  try {
    await work();
  } finally {
    clearInterval(watch);
  }
  return peaks;
}
