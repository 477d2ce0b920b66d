import type { MachineNow } from "../provider.ts";
import { gpusOf, type NodeKind, unnamed } from "./offers.ts";

/** States of nodes that take no jobs. Source: sinfo(1), node state codes. */
const unusable = /down|drain|fail|inval|maint|not_responding|powering|reboot|unknown/;
/** States that somebody gave a node. */
const setAside = /drain|maint/;

/**
 * What nodes have, and how much of it is free; a node with GPUs of several types comes once for each. Source:
 * scontrol(1), `--details --oneliner show node`.
 */
export function readMachines(text: string): MachineNow[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("NodeName="))
    .flatMap((line) => toMachines((key) => new RegExp(`\\b${key}=(\\S*)`).exec(line)?.[1] ?? ""));
}

function toMachines(fieldOf: (key: string) => string): MachineNow[] {
  const state = fieldOf("State").toLowerCase();
  const isReady = !unusable.test(state);
  const [cpus, memoryMb] = [Number(fieldOf("CPUTot")), Number(fieldOf("RealMemory"))];
  const used = gpusOf(fieldOf("GresUsed"));
  const freeOf = (gpus: NodeKind["gpus"]) =>
    (gpus?.count ?? 0) -
    (used.find((one) => one?.name === gpus?.name || one?.name === unnamed)?.count ?? 0);
  return gpusOf(fieldOf("Gres")).map((gpus) => ({
    name: fieldOf("NodeName"),
    accelerator_type: gpus?.name ?? null,
    total: { accelerator_count: gpus?.count ?? 0 },
    free: { accelerators_available: isReady ? freeOf(gpus) : 0 },
    ip_address: fieldOf("NodeAddr") || null,
    cpu_count: cpus,
    memory_gb: gigabytes(memoryMb),
    cpu_free: isReady ? cpus - Number(fieldOf("CPUAlloc")) : 0,
    memory_free_gb: isReady ? gigabytes(memoryMb - Number(fieldOf("AllocMem"))) : 0,
    is_ready: isReady,
    is_cordoned: setAside.test(state),
    taints: [],
    queue: { state, partitions: fieldOf("Partitions").split(",") },
  }));
}

const gigabytes = (megabytes: number): number => Math.round((megabytes / 1_024) * 100) / 100;
