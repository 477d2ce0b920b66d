import type { MachineNow } from "../provider.ts";
import { gpusOf } from "./offers.ts";

/** States of nodes that take no jobs. Source: sinfo(1), node state codes. */
const unusable = /down|drain|fail|inval|maint|not_responding|powering|reboot|unknown/;
/** States that somebody gave a node. */
const setAside = /drain|maint/;

/** What nodes have, and how much of it is free. Source: scontrol(1), `--details --oneliner show node`. */
export function readMachines(text: string): MachineNow[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("NodeName="))
    .map((line) => toMachine((key) => new RegExp(`\\b${key}=(\\S*)`).exec(line)?.[1] ?? ""));
}

function toMachine(fieldOf: (key: string) => string): MachineNow {
  const state = fieldOf("State").toLowerCase();
  const isReady = !unusable.test(state);
  const [cpus, memoryMb] = [Number(fieldOf("CPUTot")), Number(fieldOf("RealMemory"))];
  const gpus = gpusOf(fieldOf("Gres"));
  const total = gpus?.count ?? 0;
  return {
    name: fieldOf("NodeName"),
    accelerator_type: gpus?.name ?? null,
    total: { accelerator_count: total },
    free: {
      accelerators_available: isReady ? total - (gpusOf(fieldOf("GresUsed"))?.count ?? 0) : 0,
    },
    ip_address: fieldOf("NodeAddr") || null,
    cpu_count: cpus,
    memory_gb: gigabytes(memoryMb),
    cpu_free: isReady ? cpus - Number(fieldOf("CPUAlloc")) : 0,
    memory_free_gb: isReady ? gigabytes(memoryMb - Number(fieldOf("AllocMem"))) : 0,
    is_ready: isReady,
    is_cordoned: setAside.test(state),
    taints: [],
    queue: { state, partitions: fieldOf("Partitions").split(",") },
  };
}

const gigabytes = (megabytes: number): number => Math.round((megabytes / 1_024) * 100) / 100;
