import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Secret } from "../../common/secret.ts";
import type { SshTarget } from "../../control/doors/ssh/target.ts";
import { hasEnded } from "./agent.ts";

/** A machine of its own in the network, with a real SSH server. */
export interface SshHost {
  readonly address: string;
  /** Its disk, as seen from here. */
  readonly disk: string;
  /** The private key that it lets in. */
  readonly key: string;
  /** How to log in there. */
  target(more?: Partial<SshTarget>): SshTarget;
  /** Runs a bash script there, as root; what it wrote, trimmed. Throws when it fails. */
  run(script: string): Promise<string>;
  /** Ends its SSH server and every session of it, or starts it again. */
  ssh(state: "down" | "up"): Promise<void>;
  /** Its SSH server starts again with another key. */
  newHostKey(): Promise<void>;
  /** Takes its network away, or gives it back. */
  link(state: "up" | "down"): Promise<void>;
  /** Loses whatever is sent to it, without a word. */
  swallow(): Promise<void>;
}

export interface SshHostOptions {
  readonly password?: string;
  readonly shell?: string;
  /** The size of the disk below /home. */
  readonly homeMb?: number;
  /** Programs that it does not have. */
  readonly without?: readonly string[];
  /** It has our Node.js in its PATH. */
  readonly node?: boolean;
  /** Calls itself another kind of machine. */
  readonly arch?: string;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const execute = promisify(execFile);
const init = join(import.meta.dirname, "ssh-host");
/** A server may fork a session while it is being ended, so we look until none is left. */
const sshScripts = {
  down: "while pkill sshd; do sleep 0.01; done",
  up: "/usr/sbin/sshd -f /etc/ssh/sshd_config",
};
/** Subnets of four addresses in TEST-NET-2, which leads nowhere. Source: RFC 5737. */
const subnets = 64;
/** Only there to end a script that hangs. */
const patienceMs = 120_000;

/** Why there can be no hosts here; false when there can. */
export function whyNoHosts(): string | false {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
  if (!existsSync("/usr/sbin/sshd")) return "needs the Debian package openssh-server";
  if (!existsSync("/usr/sbin/ip") && !existsSync("/sbin/ip")) return "needs the package iproute2";
  return false;
}

/** Starts a machine; it is gone once the test is over. */
export async function startSshHost(t: Cleaner, options: SshHostOptions = {}): Promise<SshHost> {
  const folder = mkdtempSync(join(tmpdir(), "host-"));
  const { space, link, near, address } = await takeSubnet();
  let outer: ChildProcess | undefined;
  t.after(async () => {
    outer?.kill("SIGKILL");
    if (outer !== undefined && !hasEnded(outer)) await once(outer, "exit");
    await execute("ip", ["link", "del", link]).catch(() => {});
    await execute("ip", ["netns", "del", space]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  await connect(space, link, near, address);
  const keyFile = join(folder, "key");
  await execute("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", keyFile]);
  const key = readFileSync(keyFile, "utf8");
  outer = await boot(space, folder, await settingsOf(`${keyFile}.pub`, options));
  const pid = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, "utf8").trim();

  const run = async (script: string) => {
    const words = ["-t", pid, "--mount", "--pid", "--net", "--uts", "--", "bash", "-ec", script];
    return (await execute("nsenter", words, { cwd: "/", timeout: patienceMs })).stdout.trim();
  };
  return {
    address,
    disk: `/proc/${pid}/root`,
    key,
    target: (more = {}) => ({
      address,
      port: 22,
      user: "ana",
      keys: [{ name: "test", text: new Secret(key) }],
      agentSocket: null,
      password: null,
      hostKey: null,
      jump: null,
      ...more,
    }),
    run,
    newHostKey: async () => {
      await run("cd /etc/ssh; rm host_key*; ssh-keygen -q -t ed25519 -N '' -f host_key");
      await run(`${sshScripts.down}; ${sshScripts.up}`);
    },
    ssh: async (state) => void (await run(sshScripts[state])),
    link: async (state) => void (await execute("ip", ["link", "set", link, state])),
    swallow: async () => {
      const nobody = ["lladdr", "02:00:00:00:00:99", "nud", "permanent"];
      await execute("ip", ["neigh", "replace", address, ...nobody, "dev", link]);
    },
  };
}

/**
 * The name of a network namespace can be taken once, and stands for a subnet; one in which this machine has an
 * address is somebody else's.
 */
async function takeSubnet() {
  for (let index = 0; index < subnets; index += 1) {
    const space = `outrigger-host-${index}`;
    const at = (offset: number) => `198.51.100.${index * 4 + offset}`;
    const { stdout: own } = await execute("ip", ["-o", "addr", "show", "to", `${at(0)}/30`]);
    if (own !== "") continue;
    const isOurs = await execute("ip", ["netns", "add", space]).then(
      () => true,
      () => false,
    );
    if (isOurs) return { space, link: `orighost${index}`, near: at(1), address: at(2) };
  }
  throw new Error("no subnet is free; remove old ones: ip netns list");
}

async function connect(space: string, link: string, near: string, address: string): Promise<void> {
  const steps = [
    `link add ${link} type veth peer name eth0 netns ${space}`,
    `addr add ${near}/30 dev ${link}`,
    `link set ${link} up`,
    `-n ${space} addr add ${address}/30 dev eth0`,
    `-n ${space} link set eth0 up`,
    `-n ${space} link set lo up`,
    `-n ${space} route add default via ${near}`,
  ];
  for (const step of steps) await execute("ip", step.split(" "));
}

async function settingsOf(publicKeyFile: string, options: SshHostOptions) {
  const { password, shell, homeMb, without = [], node = false, arch } = options;
  const hash = password && (await execute("openssl", ["passwd", "-6", password])).stdout.trim();
  return {
    AUTHORIZED_KEY: readFileSync(publicKeyFile, "utf8").trim(),
    WITHOUT: without.join(" "),
    ...(hash && { PASSWORD_HASH: hash }),
    ...(node && { NODE: process.execPath }),
    ...(arch !== undefined && { ARCH: arch }),
    ...(shell !== undefined && { LOGIN_SHELL: shell }),
    ...(homeMb !== undefined && { HOME_MB: String(homeMb) }),
  };
}

/** Resolves once its SSH server listens. */
async function boot(space: string, root: string, settings: Record<string, string>) {
  const namespaces = ["--mount", "--pid", "--uts", "--propagation", "private"];
  const words = ["netns", "exec", space, "unshare", ...namespaces, "--fork", "--kill-child"];
  const outer = spawn("ip", [...words, init, root], {
    env: { PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [outer.stdout, outer.stderr])
    stream.setEncoding("utf8").on("data", (chunk) => {
      said += chunk;
    });
  const failed = once(outer, "exit");
  while (!said.includes("ready")) {
    await Promise.race([once(outer.stdout, "data"), failed]);
    if (hasEnded(outer)) throw new Error(`the host did not start: ${said}`);
  }
  return outer;
}
