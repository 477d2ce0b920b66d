import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { fail } from "../../common/errors.ts";
import { unlessMissing } from "../../common/files.ts";
import { product } from "../../common/product.ts";
import type { Config } from "../config.ts";
import { endsOf, freeSubnets } from "./subnets.ts";

/** Networks of nodes that share this machine: a namespace each, with a cable to the machine. */
export interface LocalNetworks {
  /** Why this machine has none to give; undefined when it has. */
  whyNone(): string | undefined;
  /** Gives a node its network; one that it has stays as it is. */
  open(nodeId: string): Promise<void>;
  /** Takes it away once nothing runs in it; one that is gone already is a success. */
  close(nodeId: string): Promise<void>;
  /** Where the node is reached; undefined while it has no network. */
  addressOf(nodeId: string): string | undefined;
  /** The command line that runs another within. */
  within(nodeId: string, command: readonly string[]): string[];
}

const execute = promisify(execFile);
/** The kernel takes one change of networks at a time, whoever makes them. */
const patienceMs = 30_000;
/** Where iproute2 keeps namespaces. Source: ip-netns(8). */
const namespaces = "/run/netns";
/** What a namespace is kept in. Source: linux/magic.h, NSFS_MAGIC. */
const namespaceMagic = 0x6e736673;
const folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/** Source: linux/capability.h. */
const capabilities = { CAP_NET_ADMIN: 12n, CAP_SYS_ADMIN: 21n };

/**
 * The networks of a home's nodes. A node's address is written down once its network is whole, and
 * is forgotten before anything of it goes: so whatever a crash leaves behind is made anew, or goes.
 */
export function localNetworks({ home, nodeEnv }: Pick<Config, "home" | "nodeEnv">): LocalNetworks {
  const owner = createHash("sha256").update(home).digest("hex").slice(0, 8);
  const search = [...folders, ...(nodeEnv["PATH"] ?? "").split(":")].filter(isAbsolute);
  const program = (name: string) =>
    search.map((folder) => join(folder, name)).find((file) => existsSync(file));
  const nameOf = (nodeId: string) => `${product.word}-${owner}-${nodeId}`;
  const recordOf = (nodeId: string) => join(home, "networks", nodeId);
  const ip = async (...words: string[]) =>
    (await execute(program("ip") ?? "ip", words, { timeout: patienceMs })).stdout;

  const whyNone = () =>
    whyNoNamespaces({
      missing: ["ip", "nsenter"].filter((name) => program(name) === undefined),
      status: readOrNothing("/proc/self/status"),
    });

  async function open(nodeId: string): Promise<void> {
    const name = nameOf(nodeId);
    if (addressOf(nodeId) !== undefined && isMounted(name)) return;
    const why = whyNone();
    if (why !== undefined) fail("CloudError", `node ${nodeId} gets no network of its own: ${why}`);
    await close(nodeId);
    await ip("netns", "add", name);
    const address = await connect(ip, name);
    writeRecord(recordOf(nodeId), address);
  }

  async function close(nodeId: string): Promise<void> {
    const name = nameOf(nodeId);
    rmSync(recordOf(nodeId), { force: true });
    if (!existsSync(join(namespaces, name))) return;
    // With one end both are gone at once; of a namespace they go some time after its last process.
    await ip("-n", name, "link", "del", inside).catch(() => {});
    await ip("netns", "del", name);
  }

  function addressOf(nodeId: string): string | undefined {
    return readOrNothing(recordOf(nodeId)) || undefined;
  }

  return {
    ...{ whyNone, open, close, addressOf },
    within: (nodeId, command) => [
      program("nsenter") ?? "nsenter",
      `--net=${join(namespaces, nameOf(nodeId))}`,
      ...command,
    ],
  };
}

type Ip = (...words: string[]) => Promise<string>;

/** Each is lost only to whoever looked at the same moment. */
const claimsAtMost = 100;
/** What a node calls its end of the cable. */
const inside = "eth0";

/** Connects a namespace with this machine; answers its address. */
async function connect(ip: Ip, name: string): Promise<string> {
  const routes: { dst: string }[] = JSON.parse(
    await ip("-json", "-4", "route", "show", "table", "all"),
  );
  const taken = routes.map(({ dst }) => dst);
  for (const subnet of freeSubnets(name, taken).take(claimsAtMost)) {
    const link = `${product.word}${subnet}`;
    if (!(await isClaimed(ip, link, name))) continue;
    const { near, node } = endsOf(subnet);
    await ip("addr", "add", `${near}/30`, "dev", link);
    await ip("link", "set", link, "up");
    await ip("-n", name, "addr", "add", `${node}/30`, "dev", inside);
    await ip("-n", name, "link", "set", inside, "up");
    await ip("-n", name, "link", "set", "lo", "up");
    if (doesForward()) await ip("-n", name, "route", "add", "default", "via", near);
    return node;
  }
  return fail("CloudError", "no subnet is free for a node; see `ip route`");
}

/** The name of a link can be taken once on a machine, and stands for a subnet. */
async function isClaimed(ip: Ip, link: string, name: string): Promise<boolean> {
  try {
    await ip("link", "add", link, "type", "veth", "peer", "name", inside, "netns", name);
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes("File exists")) return false;
    throw error;
  }
}

/** Elsewhere a way out would only hide that there is none. */
const doesForward = (): boolean => readOrNothing("/proc/sys/net/ipv4/ip_forward").trim() === "1";

/** Why there can be no namespaces, by the programs that are missing and our `/proc/self/status`. */
export function whyNoNamespaces({
  missing,
  status,
}: {
  missing: readonly string[];
  status: string;
}): string | undefined {
  const [, rights] = /^CapEff:\s*([0-9a-f]+)$/m.exec(status) ?? [];
  if (rights === undefined) return "network namespaces need Linux";
  const lacking = Object.entries(capabilities).filter(
    ([, bit]) => ((BigInt(`0x${rights}`) >> bit) & 1n) === 0n,
  );
  if (lacking.length > 0)
    return `control must run as root, with ${lacking.map(([name]) => name).join(" and ")}`;
  if (missing.length > 0)
    return `control finds no ${missing.join(" and no ")}; install iproute2 and util-linux`;
}

/** A name outlives its namespace where the machine, or what control ran in, began anew. */
function isMounted(name: string): boolean {
  return unlessMissing(() => statfsSync(join(namespaces, name)).type === namespaceMagic, false);
}

function writeRecord(file: string, address: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, address, { flush: true });
  renameSync(`${file}.new`, file);
}

function readOrNothing(file: string): string {
  return unlessMissing(() => readFileSync(file, "utf8"), "");
}
