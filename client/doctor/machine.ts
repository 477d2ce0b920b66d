import { constants, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { canUse } from "../../common/files.ts";
import { systemUser } from "../../common/system-user.ts";
import type { Env } from "../settings.ts";
import { type Finding, missing, ok, warning } from "./finding.ts";

const leastNode = 24;

/** The Node.js that runs this. */
export function lookAtNode(version = process.versions.node): Finding {
  const found = `${version}, ${process.execPath}`;
  return Number.parseInt(version, 10) >= leastNode
    ? ok("Node.js", found)
    : missing("Node.js", found, `install Node.js ${leastNode} or newer`);
}

/** What kind of machine this is. */
export function lookAtSystem(platform: string = process.platform): Finding {
  const found = `${platform} on ${process.arch}`;
  const hint = "clusters on this machine need Linux; use a control plane elsewhere";
  return platform === "linux"
    ? ok("Operating system", found)
    : warning("Operating system", found, hint);
}

/** The shell that jobs run in. */
export function lookAtBash({ PATH }: Env): Finding {
  const file = findProgram("bash", PATH);
  if (file !== undefined) return ok("bash", file);
  return warning("bash", "not in PATH", "install bash; without it, jobs run in sh");
}

/** The client for `ssh CLUSTER`. */
export function lookAtSsh({ PATH }: Env): Finding {
  const file = findProgram("ssh", PATH);
  if (file !== undefined) return ok("SSH client", file);
  const hint = "install openssh-client to use: ssh CLUSTER";
  return warning("SSH client", "not in PATH", hint);
}

function findProgram(name: string, path = ""): string | undefined {
  const files = path.split(":").map((folder) => join(folder || ".", name));
  return files.find((file) => canUse(file, constants.X_OK) && statSync(file).isFile());
}

/** Whether systemd can run our programs. Source: sd_booted(3). */
export function lookAtSystemd(run = "/run", { uid, name } = systemUser()): Finding {
  if (!existsSync(join(run, "systemd/system")))
    return warning(
      "systemd",
      "does not run this machine",
      "start what was running again after a reboot; `outrigger agent install` needs systemd",
    );
  if (uid === 0) return ok("systemd", "runs this machine");
  if (existsSync(join(run, `user/${uid}/systemd`)))
    return ok("systemd", `runs this machine, and services of ${name}`);
  return warning(
    "systemd",
    `runs this machine, but no services of ${name}`,
    "run `loginctl enable-linger`, then log in again",
  );
}

/** What jobs are limited in. */
const controllers = ["memory", "cpu", "pids"];

/** Whether jobs can have control groups, which limit and end them. Source: cgroups(7). */
export function lookAtControlGroups(own = readOwnGroups(), mounted = "/sys/fs/cgroup"): Finding {
  const rows = own.split("\n").map((line) => /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []);
  const isUsable = (names: string, place: string) =>
    rows.some(
      ([, ofRow, path = ""]) =>
        ofRow === names && canUse(join(mounted, place, path, "cgroup.procs")),
    );
  const v1 = controllers.filter((name) =>
    rows.some(([, names = ""]) => names.split(",").includes(name) && isUsable(names, name)),
  );
  const v2 = isUsable("", "") || isUsable("", "unified") ? ["v2"] : [];
  const found = [...v2, ...(v1.length > 0 ? [`v1 (${v1.join(", ")})`] : [])].join(", ");
  if (found !== "") return ok("Control groups", found);
  return warning(
    "Control groups",
    "none that you may change",
    "jobs run without limits of memory; as a service, the agent has control groups: outrigger agent install",
  );
}

function readOwnGroups(): string {
  return existsSync("/proc/self/cgroup") ? readFileSync("/proc/self/cgroup", "utf8") : "";
}
