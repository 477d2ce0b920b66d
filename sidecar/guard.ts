import type { ProcessId } from "../common/process-tree.ts";

/** Ends a command when we are killed before we could end it ourselves. */
export interface Guard {
  /** Says which process to look after, beside those with the mark. */
  watch(root: ProcessId): void;
  /** The command has ended. */
  dismiss(): void;
}

/**
 * A shell that waits until its input ends: that is when this process is gone, however it went. Then it asks
 * all that the command started to end, and kills what is left after `$2` tenths of a second. It finds them by
 * their environment and the command itself by its pid and start, so that no later process is hit.
 */
const script = `
trap '' TERM INT HUP
mark=$1 tenths=$2
read -r root start
while read -r _; do :; done
isRoot() {
  read -r stat < "/proc/$root/stat" || return
  set -- \${stat##*) }
  [ "$1" != Z ] && [ "\${20}" = "$start" ]
}
found() {
  grep -slF -e "$mark" /proc/[0-9]*/environ | cut -d / -f 3
  isRoot && echo "$root"
}
kill $(found)
while [ -n "$(found)" ] && [ "$tenths" -gt 0 ]; do
  sleep 0.1 || sleep 1
  tenths=$((tenths - 1))
done
for _ in 1 2 3; do kill -9 $(found); done`;

/**
 * Starts to guard a command whose processes have this mark, `NAME=value`, in their environment. The guard has a
 * session of its own, and shares no file with the command. Where there is no `sh`, nothing is guarded.
 */
export function startGuard(mark: string, graceMs: number, path: string | undefined): Guard {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const words = ["-c", script, "guard", mark, String(Math.ceil(graceMs / 100))];
  const shell = spawn("sh", words, {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: "/",
    env: path === undefined ? {} : { PATH: path },
  });
  shell.on("error", () => {}).unref();
  shell.stdin.on("error", () => {});
  return {
    watch: ({ pid, startTicks }) => void shell.stdin.write(`${pid} ${startTicks}\n`),
    dismiss: () => void shell.kill("SIGKILL"),
  };
}
