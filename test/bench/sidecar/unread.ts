import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { residentMib, settledMib } from "../measure.ts";
import { startCompanion, startUpstream } from "./companions.ts";
import { key, startProxy } from "./proxies.ts";

/** Each takes up to 3 MB of the kernel's memory, unless `net.ipv4.tcp_wmem` is smaller in this network namespace. */
const clients = Number(process.env["BENCH_UNREAD"] ?? 300);
/** How long each crowd has left when it is looked at. */
const crowds = [
  { name: "a first crowd", leftForSeconds: [1, 60] },
  { name: "a second crowd", leftForSeconds: [1] },
];

/** The memory of a sidecar while many clients do not read their answers, and after they have left. */
export async function unreadMemory(lab: Lab): Promise<Figure[]> {
  const { pid, port } = await startProxy(lab, "sidecar", await startUpstream(lab));
  const idleMib = await settledMib(pid, lab.signal);
  const figures: Figure[] = [];
  for (const { name, leftForSeconds } of crowds) {
    const note = (when: string) =>
      figures.push({
        what: `${name} of ${clients} clients that do not read: above idle ${when}`,
        ...{ measured: residentMib(pid) - idleMib, unit: "MiB" },
      });
    await using load = startCompanion(lab, "unread-load.ts", `${port}`, key, `${clients}`);
    await load.next();
    await settledMib(pid, lab.signal);
    note("while they stay");
    load.tell({});
    await load.next();
    const leftAtMs = performance.now();
    for (const seconds of leftForSeconds) {
      const restMs = leftAtMs + seconds * 1_000 - performance.now();
      await sleep(restMs, undefined, { signal: lab.signal });
      note(`${seconds} s after they left`);
    }
  }
  return figures;
}
