import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const systemdMs = 5_000;
/**
 * Has a process of the scope wait for the end of the agent, $1, and prints its pid: systemd keeps a scope
 * for as long as a process is in it.
 */
const startHolder = 'tail -s 5 --pid="$1" -f /dev/null > /dev/null 2>&1 & echo $!';

/**
 * Starts a systemd scope beside the agent's unit, whose control group is given. Returns the control group of
 * the scope, or undefined if systemd refuses it. The kernel applies no limit below a group that has processes
 * of its own, and systemd before 254 starts the agent in the unit's group. Processes in the scope survive the
 * agent, and the next agent finds them there. Sources: systemd.scope(5), the kernel's cgroup-v2.rst.
 */
export function openJobsScope(unit: string): string | undefined {
  const scope = join(dirname(unit), `${basename(unit, ".service")}-jobs.scope`);
  const command = ["/bin/sh", "-c", startHolder, "sh", String(process.pid)];
  const pid =
    print([...runInScope(unit, scope), ...command]) ?? (existsSync(scope) && print(command));
  if (!pid) return undefined;
  try {
    const holder = join(scope, "holder");
    mkdirSync(holder, { recursive: true });
    writeFileSync(join(holder, "cgroup.procs"), pid);
    return scope;
  } catch {
    process.kill(Number(pid));
    return undefined;
  }
}

/**
 * The words that run a command in a new scope; it fails where the scope is there. At a shutdown systemd stops
 * the agent first, which ends what runs in the scope.
 */
function runInScope(unit: string, scope: string): string[] {
  const slice = basename(dirname(scope));
  const ofUser = scope.includes(`/user@${process.getuid?.()}.service/`) ? ["--user"] : [];
  const shutdown = ["DefaultDependencies=no", `Before=${basename(unit)}`];
  const properties = ["Delegate=yes", "TasksMax=infinity", ...shutdown];
  return [
    ...["systemd-run", ...ofUser, "--scope", "--quiet", "--no-ask-password"],
    ...["--description=Jobs of the agent", `--unit=${basename(scope)}`, `--slice=${slice}`],
    ...properties.map((property) => `--property=${property}`),
    "--",
  ];
}

/** What a command that succeeds prints, without the spaces around it. */
function print([file = "", ...args]: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(file, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: systemdMs,
  });
  return status === 0 ? stdout.trim() : undefined;
}
