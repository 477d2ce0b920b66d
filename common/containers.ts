import { constants, readFileSync } from "node:fs";
import { pickSet } from "./config.ts";
import { canUse, unlessMissing } from "./files.ts";
import { findProgram } from "./mounts.ts";
import { systemUser } from "./system-user.ts";

/** What runs containers. SingularityCE has the command line of Apptainer. */
export const engineNames = ["docker", "podman", "apptainer"] as const;

/** A program that runs containers, and the variables that it is called with. */
export interface Engine {
  readonly name: (typeof engineNames)[number];
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  /** It is the user's own docker, whose network is not that of the machine. */
  readonly isRootlessDocker?: true;
}

/** Where these programs are told how to reach what they need. */
export const engineVariables = [
  ...["DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"],
  ...["CONTAINERS_CONF", "CONTAINERS_REGISTRIES_CONF", "CONTAINERS_STORAGE_CONF"],
  ...["APPTAINER_CACHEDIR", "SINGULARITY_CACHEDIR"],
] as const;

/** Shell text: root has a `sudo`, which changes nothing where the image brings none. */
export const ensureSudo = `command -v sudo || {
    mkdir -p /usr/bin
    printf '%s\\n' '#!/bin/sh' 'while case "$1" in -[EHnS]) ;; *) false ;; esac; do shift; done' 'exec env "$@"' > /usr/bin/sudo
    chmod 755 /usr/bin/sudo
  }`;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * What runs containers on this machine: docker where this user may use its daemon, or else podman or Apptainer, which
 * need none. Undefined where there is none of them, or not the one that is asked for. Podman needs ids for the user in
 * `idsFile`.
 */
export function findEngine(
  env: Env,
  path: string,
  asked?: Engine["name"],
  user = systemUser(),
  idsFile = "/etc/subuid",
): Engine | undefined {
  const isFor = (name: Engine["name"]) => asked === undefined || asked === name;
  const runtime = env["XDG_RUNTIME_DIR"] ?? `/run/user/${user.uid}`;
  const own = `unix://${runtime}/docker.sock`;
  const sockets = ["unix:///var/run/docker.sock", own];
  const host = [env["DOCKER_HOST"]?.trim() || sockets].flat().find(isOpen);
  const docker = findProgram(path, "docker");
  const podman = findProgram(path, "podman");
  // Images belong to the user, and not to a node that has a home of its own.
  const given = { ...pickSet(env, engineVariables), HOME: user.home, PATH: path };
  if (isFor("docker") && docker !== undefined && host !== undefined)
    return {
      ...{ name: "docker", file: docker, env: { ...given, DOCKER_HOST: host } },
      ...(host === own && { isRootlessDocker: true }),
    };
  const apptainer = findProgram(path, "apptainer") ?? findProgram(path, "singularity");
  const isReady =
    asked === "podman" || apptainer === undefined || isPodmanReady(env, path, user, idsFile);
  if (isFor("podman") && podman !== undefined && isReady)
    return { name: "podman", file: podman, env: given };
  if (!isFor("apptainer") || apptainer === undefined) return undefined;
  return { name: "apptainer", file: apptainer, env: given };
}

/** Whether podman can run the images of others: for users, it needs ids and, within allocations of Slurm, crun. */
function isPodmanReady(
  env: Env,
  path: string,
  { uid, name }: ReturnType<typeof systemUser>,
  idsFile: string,
): boolean {
  if (uid === 0) return true;
  const ids = unlessMissing(() => readFileSync(idsFile, "utf8")) ?? "";
  const isListed = ids
    .split("\n")
    .some((line) => [name, `${uid}`].includes(line.split(":")[0] ?? ""));
  const isInSlurm = env["SLURM_JOB_ID"] !== undefined;
  return isListed && (!isInSlurm || findProgram(path, "crun") !== undefined);
}

/** What a machine has to run containers with. */
export const hostEngines = [...engineNames, "rootless docker"] as const;
export type HostEngine = (typeof hostEngines)[number];

/** Whether that runs containers as they are needed. Nodes of a cluster must reach ports of each other. */
export const canContain = (
  engine: HostEngine | null | undefined,
  { container = false, reached = false, nodes = 1 },
): boolean =>
  !container || (engine != null && !((reached || nodes > 1) && engine === "rootless docker"));

export const howToRunContainers =
  "install docker, podman or Apptainer there, and let this user use it (`docker version`, `podman version`, `apptainer version`)";

export const whyUnreached =
  "neither users nor other nodes reach ports in a rootless docker, which has a network of its own; stop it (`systemctl --user disable --now docker`) and use podman, or use a docker daemon that root runs";

/** Of a daemon elsewhere only a call can tell. */
const isOpen = (host: string): boolean =>
  !host.startsWith("unix://") ||
  canUse(host.slice("unix://".length), constants.R_OK | constants.W_OK);
