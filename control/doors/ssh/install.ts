import { createReadStream } from "node:fs";
import { fail } from "../../../common/errors.ts";
import { settleScript } from "../runtime.ts";
import type { Bundle, Bundles } from "./bundles.ts";
import type { SshConnections } from "./connections.ts";
import { runOn } from "./exec.ts";
import { bundlesFolder, type HostFacts } from "./probe.ts";
import { nameOf, type SshTarget } from "./target.ts";

/** Where the agent's files lie on a host. */
export interface Installed {
  readonly node: string;
  /** Holds `agent.mjs`. */
  readonly folder: string;
}

/** Every host needs what the agent was written for. */
const leastNode = 24;
const askMs = 5_000;
const uploadMs = 10 * 60_000;
/** What a bundle takes on the disk beside itself, per byte, while it is unpacked. */
const growth = 3.5;
const megabyte = 2 ** 20;
const hashLength = 16;
/** Less than the agent, and Node.js, take where none of ours is; known before they are packed. */
const leastMb = { agent: 2, node: 150 };

/** The bundles out of "$@" that are there. */
const whichScript = `
cd ~/${bundlesFolder} 2> /dev/null || exit 0
for name; do [ ! -d "$name" ] || echo "$name"; done`;

/** Takes a bundle in as $1, whole or not at all; $2 is the hash of its bytes. */
const unpackScript = `${settleScript}
set -eu
umask 022
mkdir -p ~/${bundlesFolder}
cd ~/${bundlesFolder}
find . -mindepth 1 -maxdepth 1 -name '.*' -mmin +60 -exec rm -rf {} + || true
part=.$1.$$
trap 'rm -rf "$part"' EXIT
mkdir -p "$part/files"
cat > "$part/bundle"
read -r sum _ < <(sha256sum "$part/bundle")
if [ "$sum" != "$2" ]; then echo "what arrived is not what was sent" >&2; exit 1; fi
tar -xzf "$part/bundle" -C "$part/files"
[ ! -e "$part/files/bin/node" ] || settle "$part/files"
mv -T "$part/files" "$1" 2> /dev/null || [ -d "$1" ]`;

/**
 * Puts the agent and, where the host has no Node.js that is new enough, that too on a host, unless
 * they are there. Throws what stands in the way.
 */
export async function installAgent(
  ssh: SshConnections,
  { target, facts }: { target: SshTarget; facts: HostFacts },
  bundles: Bundles,
  signal?: AbortSignal,
): Promise<Installed> {
  checkHost(target, facts);
  const own = ownNode(facts);
  checkRoughly(target, facts, own === undefined);
  const runtime = own === undefined ? await bundles.runtime(facts.arch) : undefined;
  const agent = await bundles.agent();
  const wanted = [agent, ...(runtime === undefined ? [] : [runtime])];
  const asked = { what: "looking for the agent", text: whichScript, args: wanted.map(placeOf) };
  const there = await runOn(ssh, target, { ...asked, timeoutMs: askMs }, signal);
  const missing = wanted.filter((bundle) => !there.split("\n").includes(placeOf(bundle)));
  checkRoom(target, facts, missing);
  for (const bundle of missing) await bundles.inTurn(() => upload(ssh, target, bundle, signal));
  const pathOf = (bundle: Bundle) => `${facts.home}/${bundlesFolder}/${placeOf(bundle)}`;
  return {
    node: runtime === undefined ? (own ?? "node") : `${pathOf(runtime)}/bin/node`,
    folder: pathOf(agent),
  };
}

const placeOf = ({ hash }: Bundle): string => hash.slice(0, hashLength);

async function upload(
  ssh: SshConnections,
  target: SshTarget,
  bundle: Bundle,
  signal?: AbortSignal,
): Promise<void> {
  const script = {
    what: "unpacking the agent",
    text: unpackScript,
    args: [placeOf(bundle), bundle.hash],
    input: createReadStream(bundle.file),
    timeoutMs: uploadMs,
  };
  await runOn(ssh, target, script, signal);
}

/** The host's own Node.js, where it is new enough. */
const ownNode = ({ node }: HostFacts): string | undefined =>
  node !== null && Number(node.version.split(".")[0]) >= leastNode ? node.path : undefined;

/** Throws why a host cannot be one of ours. */
export function checkHost(target: SshTarget, { os, hasBash, foreignUnit }: HostFacts): void {
  const name = nameOf(target);
  if (os !== "Linux") fail("CloudError", `host ${name}: it runs ${os}; hosts must run Linux`);
  if (!hasBash) fail("CloudError", `host ${name}: it has no bash; install bash`);
  // Facts that were kept by an earlier version do not say.
  if (foreignUnit)
    fail(
      "CloudError",
      `host ${name}: ${foreignUnit.path} is the unit of an agent that ${foreignUnit.owner} installed by ` +
        "hand, and stays; have it removed (`outrigger agent uninstall`), or leave the host out of the pool",
    );
}

/** Packing takes seconds: a disk that is full anyway is named first. */
function checkRoughly(target: SshTarget, facts: HostFacts, needsNode: boolean): void {
  if (facts.hasBundles) return;
  refuseFull(target, facts, leastMb.agent + (needsNode ? leastMb.node : 0));
}

function checkRoom(target: SshTarget, facts: HostFacts, missing: Bundle[]): void {
  const bytes = missing.reduce((sum, bundle) => sum + bundle.bytes, 0);
  refuseFull(target, facts, Math.ceil((bytes * growth) / megabyte));
}

function refuseFull(target: SshTarget, { freeDiskMb, home }: HostFacts, neededMb: number): void {
  if (neededMb <= freeDiskMb) return;
  fail(
    "CloudError",
    `host ${nameOf(target)}: ${freeDiskMb} MB are free in ${home}, and the agent needs ${neededMb} MB; make room`,
  );
}
