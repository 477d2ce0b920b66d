import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { launch, onlyNode } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Control, Lab } from "./lab.ts";
import { cpuMs, endedCpuMs, median, timeOf, timesOf } from "./measure.ts";

const folders = 100;
const filesEach = 100;
/** Files that are younger are read again. */
const settledMs = 2_500;
const samples = { warmUps: 2, samples: 10 };

/** What 10,000 files of a working folder add to a job on a cluster that has them: nothing of them is sent. */
export async function workdir(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  await launch(control.client, "files", null);
  const folder = lab.folder();
  for (let at = 0; at < folders; at += 1) {
    mkdirSync(join(folder, `${at}`));
    for (let file = 0; file < filesEach; file += 1)
      writeFileSync(join(folder, `${at}/${file}.py`), `print(${at}, ${file})\n`.repeat(20));
  }
  await sleep(settledMs, undefined, { signal: lab.signal });
  const run = (...words: string[]) => exec(lab, control, words);
  const firstMs = await timeOf(() => run("--workdir", folder));
  const agent = onlyNode(control).agentPid;
  const cpu = async (work: () => Promise<unknown>) => {
    const before = cpuMs(control.pid) + cpuMs(agent) + endedCpuMs();
    await work();
    return cpuMs(control.pid) + cpuMs(agent) + endedCpuMs() - before;
  };
  const measured = async (...words: string[]) => {
    const cpus: number[] = [];
    const times = await timesOf(async () => cpus.push(await cpu(() => run(...words))), samples);
    return { ms: median(times), cpu: median(cpus) };
  };
  const again = await measured("--workdir", folder);
  const without = await measured();
  const what = `workdir of ${folders * filesEach} files`;
  return [
    { what: `${what}: exec that sends them`, measured: firstMs, unit: "ms" },
    {
      what: `${what}: what they add to the next exec`,
      measured: again.ms - without.ms,
      unit: "ms",
      target: { atMost: 300 },
    },
    {
      what: `${what}: CPU time of client, control and agent that they add`,
      measured: again.cpu - without.cpu,
      unit: "ms",
    },
    { what: "exec without a workdir", measured: without.ms, unit: "ms" },
  ];
}

async function exec(lab: Lab, { endpoint, home }: Control, words: string[]): Promise<void> {
  const env = { OUTRIGGER_ENDPOINT: endpoint, OUTRIGGER_HOME: home };
  const child = lab.cli("bundle", ["exec", "-d", "files", ...words, "true"], env);
  child.stdout?.resume();
  child.stderr?.resume();
  const [code] = await once(child, "exit", { signal: lab.signal });
  if (code !== 0) throw new Error(`exec ended with ${code}`);
}
