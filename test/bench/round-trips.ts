import { once } from "node:events";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { cpuMs, databaseBytes, quantile } from "./measure.ts";

const clients = 32;
const warmUpMs = 3_000;
const measureMs = 8_000;

/**
 * Stored requests under load, from a load generator in a process of its own. How many a second of control's
 * CPU time is enough for says the same on a busy machine as on one where control has a core to itself.
 */
export async function roundTrips(lab: Lab): Promise<Figure[]> {
  const { endpoint, pid, home } = await lab.control("bundle");
  const amounts = [clients, warmUpMs, measureMs].map(String);
  const load = lab.load("round-trips-load.ts", endpoint, ...amounts);
  await once(load, "message", { signal: lab.signal });
  const cpuBefore = cpuMs(pid);
  const bytesBefore = databaseBytes(home);
  const [times] = (await once(load, "message", { signal: lab.signal })) as [number[]];
  const cpuEach = (cpuMs(pid) - cpuBefore) / times.length;
  const what = `stored request, ${clients} clients`;
  return [
    {
      what: `${what}: POST /status -> /api/get`,
      measured: times.length / (measureMs / 1_000),
      unit: "/s",
      target: { atLeast: 2_500 },
    },
    { what: `${what}: p50`, measured: quantile(times, 0.5), unit: "ms" },
    { what: `${what}: p99`, measured: quantile(times, 0.99), unit: "ms", target: { atMost: 50 } },
    { what: `${what}: CPU time of control for each`, measured: cpuEach, unit: "ms" },
    {
      what: `${what}: for each second of CPU time of control`,
      measured: 1_000 / cpuEach,
      unit: "/s",
      target: { atLeast: 2_500 },
    },
    {
      what: `${what}: growth of the database over ${times.length}`,
      measured: databaseBytes(home) - bytesBefore,
      unit: "bytes",
      target: { atMost: 0 },
    },
  ];
}
