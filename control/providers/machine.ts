import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Need, Offer } from "./provider.ts";

const detectionMs = 5_000;

/** The accelerators of this machine: as set, or as `nvidia-smi` tells; null when it has none. */
export async function accelerators(setting: string | undefined): Promise<Offer["accelerators"]> {
  if (setting === undefined) return detected();
  const [name = "", count = "0"] = setting.split(":");
  return { name, count: Number(count) };
}

let detection: Promise<Offer["accelerators"]> | undefined;

/** Asked once: a machine keeps its accelerators while control runs. */
function detected(): Promise<Offer["accelerators"]> {
  detection ??= promisify(execFile)("nvidia-smi", ["--query-gpu=name", "--format=csv,noheader"], {
    timeout: detectionMs,
  }).then(
    ({ stdout }) => {
      const names = stdout.split("\n").filter((line) => line !== "");
      const [name] = names;
      return name === undefined ? null : { name: shortName(name), count: names.length };
    },
    () => null,
  );
  return detection;
}

/** `NVIDIA H100 80GB HBM3` is asked for as `H100`. */
const shortName = (name: string): string =>
  name.replace(/^(NVIDIA|Tesla|GeForce)\s+/gi, "").split(/[\s-]/)[0] ?? name;

/** Whether a machine of this offer satisfies what a task asks of each node. */
export function meets(offer: Offer, need: Need): boolean {
  const { infra, cpus, memoryGb, accelerators: wanted } = need;
  if (infra !== undefined && infra !== offer.infra && !infra.startsWith("*")) return false;
  if (cpus !== undefined && cpus.count > offer.cpus) return false;
  if (memoryGb !== undefined && memoryGb.count > offer.memoryGb) return false;
  if (wanted === undefined) return true;
  return (
    offer.accelerators !== null &&
    offer.accelerators.name.toLowerCase() === wanted.name.toLowerCase() &&
    offer.accelerators.count >= wanted.count
  );
}
