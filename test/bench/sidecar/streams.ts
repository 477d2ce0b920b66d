import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { cpuMs, residentMib, settledMib } from "../measure.ts";
import { startCompanion, startUpstream } from "./companions.ts";
import { key, type ProxyName, type StartedProxy, startProxies, startProxy } from "./proxies.ts";
import { mapInBatches, medianOf, ratioTo, type Samples } from "./rounds.ts";

const streams = 1_000;
const streamsToWarmUp = 100;
const tokensPerSecond = 20;
const warmUpMs = 500;
const measureMs = 1_500;
const what = `${streams} streams of ${tokensPerSecond} tokens/s`;

/** How many tokens came, and how old they were, in µs. */
interface Ages {
  readonly tokens: number;
  readonly p50: number;
  readonly p99: number;
}

type Subject = Pick<StartedProxy, "port" | "pid">;

interface Sample extends Ages {
  readonly cpuMs: number;
  readonly mib: number;
}

interface Value {
  readonly name: string;
  readonly unit: string;
  readonly target: Figure["target"];
  readonly of: (sample: Sample) => number;
}

/** What is compared with nginx. */
const values: readonly Value[] = [
  {
    ...{ name: "CPU a 1,000 tokens", unit: "ms", target: { atMost: 1.1 } },
    of: ({ cpuMs, tokens }) => (cpuMs * 1_000) / tokens,
  },
  { name: "added delay p50", unit: "µs", target: { atMost: 1.1 }, of: ({ p50 }) => p50 },
  { name: "added delay p99", unit: "µs", target: { atMost: 2 }, of: ({ p99 }) => p99 },
];

/**
 * Many streams of tokens at once: what they cost, and how much later each token comes. The first of
 * the names is ours, and the one that the targets are about comes next.
 */
export async function tokenStreams(
  lab: Lab,
  names: readonly ProxyName[] = ["sidecar", "nginx", "haproxy"],
): Promise<Figure[]> {
  const upstream = await startUpstream(lab);
  const proxies = await startProxies(lab, names, upstream);
  const direct = { name: "direct", pid: process.pid, port: upstream };
  const samples = await mapInBatches([direct, ...proxies], (one) => listen(lab, one, streams));
  const started = proxies.map(({ name }) => name);
  return values.flatMap((value) => figuresOf(value, added(samples), started));
}

/** A new sidecar's memory; code that runs for the first time takes some of it, whatever comes. */
export async function streamMemory(lab: Lab): Promise<Figure[]> {
  const sidecar = await startProxy(lab, "sidecar", await startUpstream(lab));
  const newMib = await settledMib(sidecar.pid, lab.signal);
  await listen(lab, sidecar, streamsToWarmUp);
  const idleMib = await settledMib(sidecar.pid, lab.signal);
  const { mib } = await listen(lab, sidecar, streams);
  const figure = { what: `${what}: memory for each, above idle`, unit: "KiB" };
  const each = (grownMib: number) => (grownMib * 1_024) / streams;
  return [
    { ...figure, measured: each(mib - idleMib), target: { atMost: 8 } },
    { ...figure, what: `${figure.what} of a new sidecar`, measured: each(mib - newMib) },
  ];
}

/** One run: the streams are opened, and listened to once all is warm. */
async function listen(lab: Lab, { port, pid }: Subject, count: number): Promise<Sample> {
  const args = [`${port}`, "/tokens", key, `${count}`];
  await using load = startCompanion(lab, "streams-load.ts", ...args);
  await load.next();
  load.tell({ ms: warmUpMs });
  await load.next();
  const before = cpuMs(pid);
  load.tell({ ms: measureMs });
  const ages = await load.next<Ages>();
  const expected = (count * tokensPerSecond * measureMs) / 1_000;
  if (ages.tokens < expected * 0.9)
    throw new Error(`${ages.tokens} of ${expected} tokens came in time`);
  return { ...ages, cpuMs: cpuMs(pid) - before, mib: residentMib(pid) };
}

/** The samples of the proxies, less the delays that tokens have without one. */
function added(samples: Samples<Sample>): Samples<Sample> {
  const direct = samples.get("direct") ?? [];
  const less = (sample: Sample, round: number) => ({
    ...sample,
    p50: sample.p50 - (direct[round]?.p50 ?? 0),
    p99: sample.p99 - (direct[round]?.p99 ?? 0),
  });
  return new Map([...samples].map(([name, all]) => [name, all.map(less)]));
}

function figuresOf(
  { name, unit, target, of }: Value,
  samples: Samples<Sample>,
  [ours = "", ...others]: readonly string[],
): Figure[] {
  const alone = [ours, ...others].map((proxy) => ({
    what: `${what}: ${name}, ${proxy}`,
    measured: medianOf(samples, proxy, of),
    unit,
  }));
  const compared = others.map((other) => {
    const figure = { what: `${what}: ${name}, ${ours} to ${other}`, unit: "×" };
    const measured = ratioTo(samples, other, of, ours);
    return other.startsWith("nginx") ? { ...figure, measured, target } : { ...figure, measured };
  });
  return [...alone, ...compared];
}
