import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { peaksOf, residentMib } from "../measure.ts";
import { type Companion, startCompanion, startUpstream } from "./companions.ts";
import { key, type ProxyName, startProxies } from "./proxies.ts";
import { mapInBatches, medianOf, ratioTo } from "./rounds.ts";

/** Much that goes one way. */
export interface Bulk {
  readonly what: string;
  /** What is measured: the sidecar where nothing is said. */
  readonly ours?: ProxyName;
  readonly bodyBytes: number;
  readonly answerBytes: number;
  /** With whom it is compared, and what the quotient of the rates should be. */
  readonly others: Partial<Record<ProxyName, Figure["target"]>>;
}

interface Sample {
  readonly rate: number;
  readonly peakMib: number;
}

const rate = (sample: Sample): number => sample.rate;

/** How fast it goes through every proxy, and what memory that takes. */
export async function bulk(
  lab: Lab,
  { what, ours = "sidecar", others, ...sizes }: Bulk,
): Promise<Figure[]> {
  const names = [ours, ...Object.keys(others)] as ProxyName[];
  const proxies = await startProxies(lab, names, await startUpstream(lab));
  const idleMib = residentMib(proxies[0]?.pid ?? 0);
  await using load = startCompanion(lab, "bulk-load.ts", key);
  const samples = await mapInBatches(proxies, ({ port, pid }) =>
    transfer(load, { port, ...sizes }, pid),
  );
  const grown = medianOf(samples, ours, ({ peakMib }) => peakMib) - idleMib;
  return [
    ...proxies.map(({ name }) => ({
      ...{ what: `${what}: ${name}`, measured: medianOf(samples, name, rate), unit: "MB/s" },
    })),
    ...proxies.slice(1).map(({ name }) => {
      const figure = { what: `${what}: ${ours} to ${name}`, unit: "×" };
      return { ...figure, measured: ratioTo(samples, name, rate, ours), target: others[name] };
    }),
    { what: `${what}: memory above idle`, measured: grown, unit: "MiB", target: { atMost: 20 } },
  ];
}

async function transfer(
  load: Companion,
  order: Pick<Bulk, "bodyBytes" | "answerBytes"> & { port: number },
  pid: number,
): Promise<Sample> {
  let ms = 0;
  const [peakMib = 0] = await peaksOf([pid], async () => {
    load.tell(order);
    ({ ms } = await load.next<{ ms: number }>());
  });
  return { rate: (order.bodyBytes + order.answerBytes) / 1_000 / ms, peakMib };
}
