import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { launch } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Control, Lab } from "./lab.ts";
import { median, timeOf, timesOf } from "./measure.ts";

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
  const againMs = median(await timesOf(() => run("--workdir", folder), samples));
  const withoutMs = median(await timesOf(() => run(), samples));
  const what = `workdir of ${folders * filesEach} files`;
  return [
    { what: `${what}: exec that sends them`, measured: firstMs, unit: "ms" },
    {
      what: `${what}: what they add to the next exec`,
      measured: againMs - withoutMs,
      unit: "ms",
      target: { atMost: 300 },
    },
    { what: "exec without a workdir", measured: withoutMs, unit: "ms" },
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
