import { accessSync, constants } from "node:fs";
import { pickSet } from "./config.ts";
import { findProgram } from "./mounts.ts";
import { systemUser } from "./system-user.ts";

/** A program that runs containers, and the variables that it is called with. */
export interface Engine {
  readonly name: "docker" | "podman";
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Where docker and podman are told how to reach what they need. */
export const engineVariables = [
  ...["DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"],
  ...["CONTAINERS_CONF", "CONTAINERS_REGISTRIES_CONF", "CONTAINERS_STORAGE_CONF"],
] as const;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * What runs containers on this machine: docker where this user may use its daemon, or else podman, which needs none.
 * Undefined where there is neither.
 */
export function findEngine(env: Env, path: string): Engine | undefined {
  const runtime = env["XDG_RUNTIME_DIR"] ?? `/run/user/${process.getuid?.()}`;
  const sockets = ["/var/run/docker.sock", `${runtime}/docker.sock`].map(
    (file) => `unix://${file}`,
  );
  const host = [env["DOCKER_HOST"]?.trim() || sockets].flat().find(isOpen);
  const docker = findProgram(path, "docker");
  const podman = findProgram(path, "podman");
  // Images belong to the user, and not to a node that has a home of its own.
  const own = { ...pickSet(env, engineVariables), HOME: systemUser().home, PATH: path };
  if (docker !== undefined && host !== undefined)
    return { name: "docker", file: docker, env: { ...own, DOCKER_HOST: host } };
  return podman === undefined ? undefined : { name: "podman", file: podman, env: own };
}

export const howToRunContainers =
  "install docker or podman there, and let this user use it (`docker version`, `podman version`)";

/** Of a daemon elsewhere only a call can tell. */
function isOpen(host: string): boolean {
  if (!host.startsWith("unix://")) return true;
  try {
    accessSync(host.slice("unix://".length), constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
