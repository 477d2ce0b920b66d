import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { cpuMs, residentMib, settledMib } from "../measure.ts";
import { startCompanion, startUpstream } from "./companions.ts";
import { key, startProxy } from "./proxies.ts";

const wanted = 10_000;
const holdMs = 10_000;

/** As many open streams as people may want, on which nothing comes. */
export async function idleStreams(lab: Lab): Promise<Figure[]> {
  const { pid, port } = await startProxy(lab, "sidecar", await startUpstream(lab));
  const idleMib = await settledMib(pid, lab.signal);
  const count = Math.min(wanted, streamsAllowed(pid));
  const load = startCompanion(lab, "streams-load.ts", `${port}`, "/silence", key, `${count}`);
  await load.next();
  const before = cpuMs(pid);
  const held = load.next();
  load.tell({ ms: holdMs });
  await sleep(holdMs / 2, undefined, { signal: lab.signal });
  const grownKib = (residentMib(pid) - idleMib) * 1_024;
  await held;
  const limit = count < wanted ? `, as many as ${openFiles(pid)} open files allow` : "";
  return [
    { what: `idle streams held${limit}`, measured: count, unit: "", target: { atLeast: count } },
    { what: `${count} idle streams: memory for each`, measured: grownKib / count, unit: "KiB" },
    {
      what: `${count} idle streams: CPU of the sidecar`,
      ...{ measured: ((cpuMs(pid) - before) / holdMs) * 100, unit: "%" },
    },
  ];
}

/** Two sockets a stream, and some for all else. */
const streamsAllowed = (pid: number): number => Math.floor((openFiles(pid) - 100) / 2);

function openFiles(pid: number): number {
  const [, soft] =
    /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8")) ?? [];
  return Number(soft);
}
