import { constants, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { ifPossible } from "../../common/errors.ts";
import { listProcesses, type ProcessStat } from "../../common/process-tree.ts";
import { isWithin } from "../files/ledger.ts";

/** Processes that have a file in one of these folders open to write it, as far as this user may see. */
export const listWriters = (roots: readonly string[]): ProcessStat[] =>
  listProcesses().filter(({ pid }) =>
    writtenBy(pid).some((place) => roots.some((root) => isWithin(root, place))),
  );

/** The files that a process has open to write them. Source: proc_pid_fdinfo(5). */
function writtenBy(pid: number): string[] {
  const folder = `/proc/${pid}`;
  const names = ifPossible(() => readdirSync(`${folder}/fd`)) ?? [];
  return names.flatMap((name) => {
    const note = ifPossible(() => readFileSync(`${folder}/fdinfo/${name}`, "utf8")) ?? "";
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(note)?.[1] ?? "0", 8);
    if ((flags & (constants.O_WRONLY | constants.O_RDWR)) === 0) return [];
    return ifPossible(() => readlinkSync(`${folder}/fd/${name}`)) ?? [];
  });
}
