import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { startCompanion, startUpstream } from "./companions.ts";
import { pin } from "./machine.ts";
import { mapInBatches, medianOf, ratioTo } from "./rounds.ts";

const busy = 128;
const crowd = 200;
/** How many listeners are compared: as few as can be, and what the sidecar has. */
const counts = [1, 16];

/** How long the last of many new connections waits while others keep the proxy busy. */
export async function crowdOfClients(lab: Lab): Promise<Figure[]> {
  const upstream = await startUpstream(lab);
  await using load = startCompanion(lab, "crowd-load.ts", `${busy}`, `${crowd}`);
  const proxies = [];
  for (const count of counts) {
    const child = lab.load("sidecar/crowd-proxy.ts", `${upstream}`, `${count}`);
    pin(child.pid ?? 0, "measured");
    const port = await new Promise<number>((resolve, reject) => {
      child.once("message", (message: { port: number }) => resolve(message.port));
      child.once("exit", () => reject(new Error("the proxy ended")));
    });
    proxies.push({ name: `${count} listening`, port });
  }
  const samples = await mapInBatches(proxies, ({ port }) => {
    load.tell({ port });
    return load.next<{ ms: number }>();
  });
  const [one = "", many = ""] = proxies.map(({ name }) => name);
  const ms = (sample: { ms: number }) => sample.ms;
  const what = `last of ${crowd} new connections beside ${busy} busy ones`;
  return [
    ...proxies.map(({ name }) => ({
      ...{ what: `${what}: ${name}`, measured: medianOf(samples, name, ms), unit: "ms" },
    })),
    {
      ...{ what: `${what}: ${many} to ${one}`, measured: ratioTo(samples, one, ms, many) },
      ...{ unit: "×", target: { atMost: 0.4 } },
    },
  ];
}
