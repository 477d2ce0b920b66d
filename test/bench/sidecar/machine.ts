import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename } from "node:path";

const taskset = "/usr/bin/taskset";
const others = availableParallelism() - 1;
/** What is measured has a core of its own; load and upstream share the others. */
const cores = { measured: "0", load: others > 1 ? `1-${others}` : "1" };
const said = new Set<string>();

/** Keeps a process, and what threads it will have, on the cores for its part. */
export function pin(pid: number, part: keyof typeof cores): void {
  if (others > 0 && isInstalled(taskset))
    spawnSync(taskset, ["--all-tasks", "--cpu-list", "--pid", cores[part], String(pid)]);
}

/** Whether a program is there; says once that figures are without it when it is not. */
export function isInstalled(program: string): boolean {
  if (existsSync(program)) return true;
  if (!said.has(program))
    console.error(`  without ${basename(program)}, which is not installed: apt-get install it`);
  said.add(program);
  return false;
}
