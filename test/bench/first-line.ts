import { once } from "node:events";
import { down, exec, follow, launch } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Control, Lab } from "./lab.ts";
import { median, quantile, timeOf } from "./measure.ts";

const hello = "echo hello";

/** From the user's wish to the first line that the job printed. */
export async function firstLine(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  const launchMs = await timesOfLaunch(control, 8);
  await launch(control.client, "warm", null);
  const execMs = await timesOfExec(control, 40);
  const launchCliMs = await timeOf(() => cli(lab, control, ["launch", "-y", "-c", "typed", hello]));
  const execCliMs: number[] = [];
  for (let count = 0; count < 10; count += 1)
    execCliMs.push(await timeOf(() => cli(lab, control, ["exec", "typed", hello])));
  const launched = "launch to first log line";
  const executed = "exec to first log line";
  return [
    { what: launched, measured: median(launchMs), unit: "ms", target: { atMost: 2_000 } },
    {
      what: `${launched}: slowest of ${launchMs.length}`,
      measured: Math.max(...launchMs),
      unit: "ms",
    },
    { what: executed, measured: median(execMs), unit: "ms", target: { atMost: 300 } },
    { what: `${executed}: p95`, measured: quantile(execMs, 0.95), unit: "ms" },
    { what: `${launched}, from the command line`, measured: launchCliMs, unit: "ms" },
    { what: `${executed}, from the command line`, measured: median(execCliMs), unit: "ms" },
  ];
}

/** The times of launches to the first line of their jobs, one after the other. */
export async function timesOfLaunch(
  { client }: Control,
  count: number,
  infra?: string,
): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = `new-${index}`;
    times.push(await timeToLine(client, name, () => launch(client, name, hello, infra)));
    await down(client, name);
  }
  return times;
}

/** The same of jobs on a cluster named `warm`. */
export async function timesOfExec({ client }: Control, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1)
    times.push(await timeToLine(client, "warm", () => exec(client, "warm", hello)));
  return times;
}

async function timeToLine(
  client: Control["client"],
  name: string,
  submit: () => Promise<number | null>,
): Promise<number> {
  const since = performance.now();
  let time = Number.NaN;
  await follow(client, name, await submit(), () => {
    time = Number.isNaN(time) ? performance.now() - since : time;
  });
  return time;
}

/** Runs the command line until the job's line is on its output. */
async function cli(lab: Lab, { endpoint, home }: Control, words: string[]): Promise<void> {
  const env = { OUTRIGGER_ENDPOINT: endpoint, OUTRIGGER_HOME: home };
  const child = lab.cli("bundle", words, env);
  child.stderr?.resume();
  let said = "";
  for await (const chunk of child.stdout ?? []) {
    said += chunk;
    if (said.includes("hello")) return;
  }
  await once(child, "exit");
  throw new Error(`the command line said ${JSON.stringify(said)}`);
}
