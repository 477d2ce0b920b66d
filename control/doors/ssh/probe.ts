import { isIP } from "node:net";
import { type HostEngine, hostEngines } from "../../../common/containers.ts";
import { count } from "../../../common/count.ts";
import { fail } from "../../../common/errors.ts";
import { product } from "../../../common/product.ts";
import { acceleratorName } from "../../providers/machine.ts";
import type { SshConnections } from "./connections.ts";
import { execOn } from "./exec.ts";
import { nameOf, type SshTarget } from "./target.ts";

/** What a host is made of, as it told when it was asked. */
export interface HostFacts {
  /** As uname(1) says: `Linux`, `x86_64`. */
  readonly os: string;
  readonly arch: string;
  readonly cpus: number;
  readonly memoryGb: number;
  /** What is free where the user's home lies. */
  readonly freeDiskMb: number;
  readonly accelerators: { readonly name: string; readonly count: number } | null;
  readonly hasBash: boolean;
  /** What runs containers for this user. */
  readonly containers?: HostEngine | null;
  /** Which systemd a unit of this user can be put in. */
  readonly systemd: "system" | "user" | null;
  readonly user: string;
  readonly home: string;
  /** The unit of an agent that somebody else installed, and who that is; null where there is none. */
  readonly foreignUnit: { readonly path: string; readonly owner: string } | null;
  /** Whether programs of ours are there, of whatever version. */
  readonly hasBundles: boolean;
  /** Its own Node.js. */
  readonly node: { readonly path: string; readonly version: string } | null;
  /** Where others reach it; null where it cannot tell. */
  readonly address: string | null;
}

const probeMs = 8_000;
/** Where our programs lie on a host, below the user's home. */
export const bundlesFolder = `.${product.word}/bundles`;
/** The agent's unit; what we add to one that we put there ourselves lies in `<unit>.service.d`. */
export const agentUnit = `${product.word}-agent`;
export const ourDropIn = "pool.conf";

/** Tells one fact a line. Source of the last: sshd(8), SSH_CONNECTION. */
const script = `
say() { printf '%s=%s\\n' "$1" "$2"; }
PATH=$PATH:/usr/local/bin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
say os "$(uname -s)"
say arch "$(uname -m)"
say cpus "$(getconf _NPROCESSORS_ONLN)"
say memoryKb "$(sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo)"
df -Pk "$HOME" | { read -r _; read -r _ _ _ free _; say freeDiskKb "$free"; }
nvidia-smi -L 2> /dev/null | while read -r line; do say gpu "$line"; done
say bash "$(command -v bash)"
user=$(id -un)
uid=$(id -u)
docker=$(command -v docker)
if [ -n "$docker" ] && [ -w /var/run/docker.sock ]; then say containers docker
elif [ -n "$docker" ] && [ -w "/run/user/$uid/docker.sock" ]; then say containers "rootless docker"
elif command -v podman > /dev/null; then say containers podman
elif command -v apptainer > /dev/null || command -v singularity > /dev/null; then say containers apptainer; fi
say user "$user"
say home "$HOME"
if [ "$uid" = 0 ]; then manager=system folder=/run/systemd/system
else
  manager=user folder=/run/user/$uid/systemd
  [ -e "/var/lib/systemd/linger/$user" ] || folder=/none
fi
[ ! -d "$folder" ] || say systemd "$manager"
if [ $manager = system ]; then units=/etc/systemd/system; else units=$HOME/.config/systemd/user; fi
unit=$units/${agentUnit}.service
if [ -e "$unit" ] && [ ! -e "$unit.d/${ourDropIn}" ]; then say foreignUnit "$(ls -ld "$unit" | { read -r _ _ owner _; echo "$owner"; }) $unit"; fi
[ -z "$(ls -A "$HOME/${bundlesFolder}" 2> /dev/null)" ] || say bundles there
node=$(command -v node) && say node "$node $("$node" --version)"
say connection "$SSH_CONNECTION"
`;

/** Asks a host what it is made of; one round trip. Throws when it cannot be reached, or is no host for us. */
export async function probeHost(
  ssh: SshConnections,
  target: SshTarget,
  signal?: AbortSignal,
): Promise<HostFacts> {
  const asked = { what: "looking at it", text: script, shell: "sh", timeoutMs: probeMs } as const;
  const { stdout, stderr } = await execOn(ssh, target, asked, signal);
  const facts = readFacts(stdout);
  if (facts === undefined) {
    const said = (stderr || stdout).trim().split("\n")[0];
    fail("CloudError", `host ${nameOf(target)}: its shell runs no commands, but says: ${said}`);
  }
  return facts;
}

/** The facts in what the script printed; undefined when they are not there. */
export function readFacts(text: string): HostFacts | undefined {
  const told = Map.groupBy(text.split("\n").map(splitLine), ([name]) => name);
  const all = (name: string) => (told.get(name) ?? []).map(([, value]) => value);
  const one = (name: string) => all(name)[0] ?? "";
  if (one("os") === "" || one("home") === "") return undefined;
  const [path = "", version = ""] = one("node").split(" ");
  const [systemd, containers] = [one("systemd"), one("containers")];
  return {
    os: one("os"),
    arch: one("arch"),
    cpus: Number(one("cpus")) || 1,
    memoryGb: Math.round(Number(one("memoryKb")) / 2 ** 20),
    freeDiskMb: Math.floor(Number(one("freeDiskKb")) / 1024),
    accelerators: acceleratorsIn(all("gpu")),
    hasBash: one("bash") !== "",
    containers: hostEngines.find((name) => name === containers) ?? null,
    systemd: systemd === "system" || systemd === "user" ? systemd : null,
    user: one("user"),
    home: one("home"),
    foreignUnit: unitIn(one("foreignUnit")),
    hasBundles: one("bundles") !== "",
    node: path === "" ? null : { path, version: version.replace(/^v/, "") },
    address: addressIn(one("connection")),
  };
}

/** `<owner> <path>`. */
function unitIn(text: string): HostFacts["foreignUnit"] {
  const [, owner, path] = /^(\S+) (.+)$/.exec(text) ?? [];
  return owner === undefined || path === undefined ? null : { owner, path };
}

/** `<client> <port> <server> <port>`. */
function addressIn(connection: string): string | null {
  const server = connection.split(" ")[2] ?? "";
  return isIP(server) === 0 ? null : server;
}

function splitLine(line: string): [name: string, value: string] {
  const at = line.indexOf("=");
  return [line.slice(0, at), line.slice(at + 1)];
}

/** `GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)`; of several kinds the first counts. */
function acceleratorsIn(lines: readonly string[]): HostFacts["accelerators"] {
  const names = lines.flatMap((line) => /^GPU \d+: (.+?)(?: \(UUID|$)/.exec(line)?.[1] ?? []);
  const kinds = Map.groupBy(names, acceleratorName);
  const [first] = kinds;
  return first === undefined ? null : { name: first[0], count: first[1].length };
}

/** A host in a few words: `Linux x86_64, 8 CPUs, 64 GB, H100:8`. */
export function describeHost({ os, arch, cpus, memoryGb, accelerators }: HostFacts): string {
  const gpus = accelerators === null ? [] : [`${accelerators.name}:${accelerators.count}`];
  return [`${os} ${arch}`, count(cpus, "CPU"), `${memoryGb} GB`, ...gpus].join(", ");
}
