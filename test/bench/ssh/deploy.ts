import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { timeOf } from "../measure.ts";
import { deploy, entryOf, putPool, startHosts } from "./pool.ts";

const count = 20;

/** A pool deployed when its machines have nothing of ours, and when they have everything. */
export async function sshDeploy(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  await using pool = await startHosts(count);
  const entries = pool.hosts.map((host) => entryOf(control, host));
  // The first machine waits until the bundles are packed, which is done once.
  await putPool(control, entries.slice(0, 1));
  const packing = await timeOf(() => deploy(control));
  await putPool(control, entries);
  const cold = await timeOf(() => deploy(control));
  const warm = await timeOf(() => deploy(control));
  const what = `${count} machines without Node.js deployed`;
  return [
    { what: "one machine deployed, bundles packed first", measured: packing / 1_000, unit: "s" },
    { what: `${what}: cold`, measured: cold / 1_000, unit: "s" },
    { what: `${what}: warm`, measured: warm / 1_000, unit: "s", target: { atMost: 2 } },
  ];
}
