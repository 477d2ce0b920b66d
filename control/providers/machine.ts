import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Offer } from "./provider.ts";

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
      return name === undefined ? null : { name: acceleratorName(name), count: names.length };
    },
    () => null,
  );
  return detection;
}

/** `NVIDIA H100 80GB HBM3` is asked for as `H100`, `NVIDIA GeForce RTX 4090` as `RTX4090`. */
export function acceleratorName(model: string): string {
  const [name = model, number = ""] = model
    .replace(/^((NVIDIA|Tesla|GeForce|Quadro)\s+)+/i, "")
    .split(/[\s-]/);
  return name === "RTX" ? `${name}${number}` : name;
}
