import { shellWord } from "../../common/shell-word.ts";
import { setAside } from "../aside.ts";
import type { Agent } from "../context.ts";
import type { Wrapped } from "../jobs/sidecar.ts";
import { type Container, sandboxOf } from "./engine.ts";

/** What begins in a container, and how. */
interface Beginning {
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly groups?: readonly string[] | undefined;
  readonly flags?: readonly string[];
}

/** What the programs themselves would read. */
const isForEngine = (name: string): boolean =>
  /^(HOME|PATH|(LD|DOCKER|PODMAN|CONTAINERS?|(APPTAINER|SINGULARITY)(ENV)?|XDG|GO)(_\w+)?|GODEBUG|SSL_CERT_\w+)$/.test(
    name,
  );

/** Means nothing in an image: other programs are there, and no `srun`, which MPI would call within an allocation. */
const isOfNode = (name: string): boolean => name === "PATH" || name.startsWith("SLURM_");

const isKept = (name: string): boolean => name === "HOME" || name === "PATH";

/** Source: the manual pages apptainer(1) and apptainer-exec(1). */
export const sandboxWords = ["--silent", "exec", "--writable", "--no-home"] as const;

/**
 * How a script is started in a container: with its environment but what is the node's own, in its control groups, and
 * with its output in the pipe that `__log` names, if any. No value is in a command line.
 */
export function enterContainer(
  { config }: Pick<Agent, "config">,
  { engine, id, options = [] }: Container,
  { env: whole, workdir, groups = [], flags = [] }: Beginning,
): Wrapped {
  const isGiven = ([name, value]: [string, string]) =>
    !isOfNode(name) || value !== config.baseEnv[name];
  const given = Object.fromEntries(Object.entries(whole).filter(isGiven));
  const { env, restore } = setAside(given, isForEngine);
  const isSandboxed = engine.name === "apptainer";
  // All that Apptainer itself is given is passed on.
  const passed = isSandboxed ? Object.keys(engine.env).filter((name) => !isKept(name)) : [];
  const begin = `
for __group in ${groups.map(shellWord).join(" ")}; do echo 0 > "$__group/cgroup.procs"; done 2> /dev/null
[ -z "$__log" ] || exec >> "$__log" 2>&1
unset ${passed.join(" ")}
${restore}
export __path=$PATH
unset __group __log
exec "$@"`;
  const names = [...Object.keys(env), "__log"].flatMap((name) => ["-e", name]);
  const words = isSandboxed
    ? [...sandboxWords, "--pwd", workdir, ...options, sandboxOf({ config })]
    : ["exec", ...flags, ...names, "-w", workdir, id];
  words.push("/bin/sh", "-c", begin, "sh");
  return { env: { ...env, ...engine.env }, through: [engine.file, ...words] };
}
