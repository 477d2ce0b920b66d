import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findUnified, type Machine } from "./machine.ts";

/** Binds processes of a group as memory does, and is often left to control groups v2 where memory is not. */
export const controller = "hugetlb";
/** In the file that limits it. */
export const limitFile = `${controller}.2MB.max`;

interface Cleaner {
  after(clean: () => void): void;
}

/** Why no machine can offer the controller here; false when one can. */
export function whyNoController(): string | false {
  const offered = readFileSync(join(findUnified() ?? "", "cgroup.controllers"), "utf8");
  return offered.includes(controller) ? false : `needs ${controller} in control groups v2`;
}

/** Has the services of a slice of a machine find the controller, as those of real machines find theirs. */
export function offerController(t: Cleaner, { groups }: Machine, slice: string): void {
  const outer = join(groups, "outer");
  mkdirSync(outer);
  for (const pid of readFileSync(join(groups, "cgroup.procs"), "utf8").trim().split("\n"))
    writeFileSync(join(outer, "cgroup.procs"), pid);
  const all = findUnified() ?? "";
  t.after(() => enable(all, "-"));
  enable(all);
  slice.split("/").reduce((above, name) => {
    enable(above);
    return join(above, name);
  }, groups);
  enable(join(groups, slice));
}

/** Has what is below a group be limited; the kernel refuses where processes are in the group itself. */
export const enable = (group: string, sign: "+" | "-" = "+"): void =>
  writeFileSync(join(group, "cgroup.subtree_control"), `${sign}${controller}`);
