import { shellWord } from "../../common/shell-word.ts";
import { setAside } from "../aside.ts";
import type { Agent } from "../context.ts";
import type { Wrapped } from "../jobs/sidecar.ts";
import type { Container } from "./container.ts";

/** What begins in a container, and how. */
interface Beginning {
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly groups?: readonly string[] | undefined;
  readonly flags?: readonly string[];
}

/** What the programs themselves would read. */
const isForEngine = (name: string): boolean =>
  /^(HOME|PATH|(LD|DOCKER|PODMAN|CONTAINERS?|XDG|GO)(_\w+)?|GODEBUG|SSL_CERT_\w+)$/.test(name);

/**
 * How a script is started in a container: with its environment but the node's own PATH, in its control groups, and
 * with its output in the pipe that `__log` names, if any. No value is in a command line.
 */
export function enterContainer(
  { config }: Pick<Agent, "config">,
  { engine, id }: Container,
  { env: whole, workdir, groups = [], flags = [] }: Beginning,
): Wrapped {
  const { PATH: path, ...others } = whole;
  const given = path === config.baseEnv["PATH"] ? others : whole;
  const { env, restore } = setAside(given, isForEngine);
  const names = [...Object.keys(env), "__log"].flatMap((name) => ["-e", name]);
  const begin = `
for __group in ${groups.map(shellWord).join(" ")}; do echo 0 > "$__group/cgroup.procs"; done 2> /dev/null
[ -z "$__log" ] || exec >> "$__log" 2>&1
${restore}
export __path=$PATH
unset __group __log
exec "$@"`;
  const words = ["exec", ...flags, ...names, "-w", workdir, id, "/bin/sh", "-c", begin, "sh"];
  return { env: { ...env, ...engine.env }, through: [engine.file, ...words] };
}
