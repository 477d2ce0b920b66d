import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { restedMib } from "../measure.ts";
import { submit, untilAll } from "./managed.ts";

const running = 60;
const waiting = 10_000;
const kilobytes = 1_024;

/** What control needs for each managed job that runs, and for each that waits. */
export async function jobMemory(lab: Lab): Promise<Figure[]> {
  const settings = { OUTRIGGER_MANAGED_JOBS_AT_MOST: String(running) };
  const { client, pid } = await lab.control("bundle", undefined, settings);
  await submit(client, "sleep 1000");
  const isRunning = ({ status }: { readonly status: string | null }) => status === "RUNNING";
  await untilAll(client, (jobs) => jobs.every(isRunning), lab.signal);
  const idle = await restedMib(pid, lab.signal);
  await submit(client, "sleep 1000", { copies: running - 1 });
  await untilAll(client, (jobs) => jobs.every(isRunning), lab.signal);
  const busy = await restedMib(pid, lab.signal);
  for (let at = 0; at < waiting; at += 1_000) await submit(client, "true", { copies: 1_000 });
  const full = await restedMib(pid, lab.signal);
  return [
    { what: "control with one managed job that runs", measured: idle, unit: "MiB" },
    {
      what: `a managed job that runs, of ${running}`,
      measured: ((busy - idle) * kilobytes) / (running - 1),
      unit: "KiB",
      target: { atMost: 30 },
    },
    {
      what: `a managed job that waits, of ${waiting}`,
      measured: ((full - busy) * kilobytes) / waiting,
      unit: "KiB",
      target: { atMost: 5 },
    },
  ];
}
