import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { cpuMs } from "../measure.ts";
import { startUpstream } from "./companions.ts";
import { isInstalled, pin } from "./machine.ts";
import { key, type ProxyName, type StartedProxy, startProxies } from "./proxies.ts";
import { mapInBatches, medianOf, ratioTo, type Samples } from "./rounds.ts";

/** Requests that are all the same, over connections that are kept. */
export interface Scenario {
  readonly what: string;
  /** What is measured: the sidecar where nothing is said. */
  readonly ours?: ProxyName;
  readonly inFlight: number;
  readonly bodyBytes: number;
  readonly answerBytes: number;
  readonly hasWrongKey?: boolean;
  /** What of it is compared. */
  readonly compared: keyof typeof values;
  /** With whom it is compared, and what the quotient should be. */
  readonly others: Partial<Record<ProxyName, Figure["target"]>>;
}

/** What one run gave. */
interface Sample {
  readonly rate: number;
  readonly delayUs: number;
  readonly cpuUs: number;
}

const values = {
  rate: { of: (sample: Sample) => sample.rate, unit: "/s" },
  delay: { of: (sample: Sample) => sample.delayUs, unit: "µs" },
};

export const wrk = "/usr/bin/wrk";
const seconds = 1;

/** What every proxy does under the same load, and how the sidecar compares. */
export async function requests(lab: Lab, scenario: Scenario): Promise<Figure[]> {
  if (!isInstalled(wrk)) return [];
  const { ours = "sidecar" } = scenario;
  const names = [ours, ...Object.keys(scenario.others)] as ProxyName[];
  const proxies = await startProxies(lab, names, await startUpstream(lab));
  const samples = await mapInBatches(proxies, (proxy) => load(lab, scenario, proxy));
  const [, ...others] = proxies;
  return [
    ...proxies.map(({ name }) => alone(scenario, samples, name)),
    ...others.map(({ name }) => compared(scenario, samples, name)),
  ];
}

function alone({ what, compared }: Scenario, samples: Samples<Sample>, name: ProxyName): Figure {
  const { of, unit } = values[compared];
  const cpuUs = medianOf(samples, name, (sample) => sample.cpuUs).toFixed(1);
  const measured = medianOf(samples, name, of);
  return { what: `${what}: ${name} (${cpuUs} µs of CPU each)`, measured, unit };
}

function compared(
  { what, compared, others, ours = "sidecar" }: Scenario,
  samples: Samples<Sample>,
  name: ProxyName,
): Figure {
  const measured = ratioTo(samples, name, values[compared].of, ours);
  return { what: `${what}: ${ours} to ${name}`, measured, unit: "×", target: others[name] };
}

interface Report {
  readonly requests: number;
  readonly us: number;
  readonly p50Us: number;
  readonly refused: number;
  readonly broken: number;
}

/** One run; throws when answers were not what they should be. */
async function load(
  lab: Lab,
  scenario: Scenario,
  { name, pid, port }: StartedProxy,
): Promise<Sample> {
  const before = cpuMs(pid);
  const report = await runWrk(lab, scenario, port);
  const expected = scenario.hasWrongKey ? report.requests : 0;
  if (report.broken > 0 || report.refused !== expected || report.requests === 0)
    throw new Error(`${name} did not answer as it should: ${JSON.stringify(report)}`);
  return {
    rate: report.requests / (report.us / 1e6),
    delayUs: report.p50Us,
    cpuUs: ((cpuMs(pid) - before) * 1_000) / report.requests,
  };
}

/** One run of `wrk`. */
export async function runWrk(
  lab: Lab,
  scenario: Pick<Scenario, "inFlight" | "bodyBytes" | "answerBytes" | "hasWrongKey">,
  port: number,
): Promise<Report> {
  const { inFlight, bodyBytes, answerBytes, hasWrongKey } = scenario;
  const amounts = ["--threads", "1", "--connections", `${inFlight}`, "--duration", `${seconds}`];
  const script = ["--script", join(import.meta.dirname, "wrk.lua")];
  const url = `http://127.0.0.1:${port}/answer/${answerBytes}/${bodyBytes}`;
  const method = bodyBytes > 0 ? "POST" : "GET";
  const args = ["--", method, hasWrongKey ? "wrong" : key, `${bodyBytes}`];
  const child = lab.program(wrk, [...amounts, ...script, url, ...args]);
  pin(child.pid ?? 0, "load");
  const exit = once(child, "exit", { signal: lab.signal });
  const [output = ""] = child.stdout === null ? [] : await Promise.all([text(child.stdout), exit]);
  return JSON.parse(output.trim().split("\n").at(-1) ?? "") as Report;
}
