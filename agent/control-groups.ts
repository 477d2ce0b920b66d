import { createHash } from "node:crypto";
import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Where this process may make control groups: below its own one, if that was delegated to it, as
 * systemd does with `Delegate=yes`. Undefined elsewhere, and before Linux 5.14. Source: cgroups(7).
 */
export function findOwnGroup(
  cgroup = readFileSync("/proc/self/cgroup", "utf8"),
  mountinfo = readFileSync("/proc/self/mountinfo", "utf8"),
): string | undefined {
  const [, path] = /^0::(\/.*)$/m.exec(cgroup) ?? [];
  const [, top = "", mountPoint = ""] =
    /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(mountinfo) ?? [];
  if (path === undefined || !`${path}/`.startsWith(join(top, "/"))) return undefined;
  const own = join(mountPoint, path.slice(top.length));
  return isDelegated(own) ? own : undefined;
}

/** The control group of the scripts of a folder, below the one that we may make groups in, if any. */
export function groupOf(own: string | undefined, folder: string): string | undefined {
  if (own === undefined) return undefined;
  const digest = createHash("sha256").update(folder).digest("hex").slice(0, 12);
  return join(own, [...folder.split("/").slice(-2), digest].join("-"));
}

/** Makes a control group unless it is there. Where none can be made, scripts run without one. */
export function makeGroup(group: string): void {
  try {
    mkdirSync(group);
  } catch {
    // Entering it then fails as well, or succeeds because it was there.
  }
}

/** The root of all groups has no `cgroup.kill`, and is nobody's. */
function isDelegated(group: string): boolean {
  try {
    accessSync(join(group, "cgroup.kill"));
    for (const path of [group, join(group, "cgroup.procs")]) accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
