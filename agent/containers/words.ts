import { type Engine, ensureSudo } from "../../common/containers.ts";
import { product } from "../../common/product.ts";
import { shellWord } from "../../common/shell-word.ts";

/** Waits for its end, and reaps what others leave behind. */
const init = (onTerm: string): string =>
  `trap "${onTerm}" TERM; while :; do sleep 86400 & wait $!; done`;

/**
 * What a container runs as its first process. Where TERM to the agent announces the end of its node, each process may
 * get it, as in an allocation of Slurm, and hooks run in the container after that.
 */
export const firstProcess = (outlivesTerm: boolean) => ({
  options: [...(outlivesTerm ? ["--stop-signal", "KILL"] : []), "--entrypoint", "/bin/sh"],
  command: ["-c", init(outlivesTerm ? "" : "exit 0")],
});

/**
 * Gives a new container what scripts rely on: what the image does for root's shells, a name for the user of the
 * node ($1 with group $2 and name $3), and `sudo` where it changes nothing or that user may have it.
 */
export const prepare = `
cd /
[ -e "$HOME/.bashrc" ] || { [ -r /root/.bashrc ] && cp /root/.bashrc "$HOME/.bashrc" && chown "$1:$2" "$HOME/.bashrc"; }
if [ "$1" = 0 ]; then
  ${ensureSudo}
else
  grep -q "^[^:]*:[^:]*:$1:" /etc/passwd || echo "$3:x:$1:$2::$HOME:/bin/bash" >> /etc/passwd
  [ ! -d /etc/sudoers.d ] || echo "$3 ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/${product.word}
fi
true`;

/** What has a container see the accelerators of its node. */
export function gpuWords({ name }: Engine, exists: (path: string) => boolean): string[] {
  if (name === "apptainer")
    return exists("/dev/nvidiactl") ? ["--nv"] : exists("/dev/kfd") ? ["--rocm"] : [];
  const nvidia = name === "docker" ? ["--gpus", "all"] : ["--device", "nvidia.com/gpu=all"];
  const amd = ["/dev/kfd", "/dev/dri"].filter(exists).flatMap((path) => ["--device", path]);
  if (exists("/dev/nvidiactl")) return nvidia;
  return exists("/dev/kfd") ? amd : [];
}

/** Shell text that removes a container. It fails where the container may still be there. */
export function removal({ file, env }: Engine, name: string): string {
  const variables = Object.entries(env).map(([key, value]) => `export ${key}=${shellWord(value)}`);
  const engine = shellWord(file);
  return [
    ...variables,
    `[ -x ${engine} ] || exit 0`,
    `${engine} rm -f ${name} > /dev/null 2>&1 && exit`,
    `left=$(${engine} ps -aq --filter name=^${name}$) && [ -z "$left" ]`,
    "",
  ].join("\n");
}
