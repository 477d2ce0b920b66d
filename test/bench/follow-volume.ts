import { exec, follow, launch, onlyNode } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { peaksOf } from "./measure.ts";

const cluster = "volume";
const warmUpBytes = 64 * 2 ** 20;
const totalBytes = 2 ** 30;
/** What an event loop and its garbage collector may take for any number of bytes. */
const flatMib = 64;

/** A gigabyte of job output, followed while it is written. */
export async function followVolume(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  const { client } = control;
  await launch(client, cluster, null);
  const pids = [onlyNode(control).agentPid, control.pid];

  const followed = async (size: number) => {
    const line = "0123456789".repeat(10);
    const job = await exec(client, cluster, `yes ${line} | head -c ${size}`);
    let came = 0;
    await follow(client, cluster, job, (bytes) => {
      came += bytes.length;
    });
    if (came !== size) throw new Error(`${came} of ${size} bytes came`);
  };
  const before = await peaksOf(pids, () => followed(warmUpBytes));
  const since = performance.now();
  const peaks = await peaksOf(pids, () => followed(totalBytes));
  const seconds = (performance.now() - since) / 1_000;
  const growth = (index: number) => (peaks[index] ?? Number.NaN) - (before[index] ?? 0);
  return [
    { what: "1 GiB of log through control", measured: totalBytes / 1e6 / seconds, unit: "MB/s" },
    ...["agent", "control"].map((name, index) => ({
      what: `  ${name}: growth beyond the first 64 MiB`,
      measured: growth(index),
      unit: "MiB",
      target: { atMost: flatMib },
    })),
    ...["agent", "control"].map((name, index) => ({
      what: `  ${name}: most memory`,
      measured: peaks[index] ?? Number.NaN,
      unit: "MiB",
    })),
  ];
}
