import { existsSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../common/errors.ts";
import { replaceFile } from "../common/files.ts";
import { envNames, product } from "../common/product.ts";
import { clusterOperations } from "../contract/operations/clusters.ts";
import type { ClusterStatusRecord } from "../contract/records/clusters.ts";
import { isOfHome } from "./settings.ts";
import type { World } from "./world.ts";

/**
 * Has `ssh CLUSTER` and `ssh CLUSTER-worker1` lead to the nodes of clusters, and to none of those that
 * are not up. What cannot be written is noted, and is no failure of the command.
 */
export function writeSshConfig(world: World, records: readonly ClusterStatusRecord[]): void {
  attempt(world, (place) => {
    for (const record of records)
      if (record.credentials) writeEntry(world, place, record);
      else removeEntry(place, record.name);
    if (records.some(({ credentials }) => credentials)) include(place);
  });
}

/** As `writeSshConfig`, after something was done to clusters. */
export async function updateSshConfig(world: World, names: readonly string[]): Promise<void> {
  if (!world.env["HOME"] || names.length === 0) return;
  const client = await world.connect();
  const asked = { cluster_names: [...names], include_handle: false, summary_response: true };
  // What was asked for is done: how to reach it is not worth an error.
  const records = await client.callAndGet(clusterOperations.status, asked).catch(() => undefined);
  if (records === undefined) return;
  writeSshConfig(world, records);
  const gone = names.filter((name) => !records.some((record) => record.name === name));
  attempt(world, (place) => {
    for (const name of gone) removeEntry(place, name);
  });
}

interface Place {
  readonly folder: string;
  /** The user's own configuration, which includes ours. */
  readonly config: string;
}

function attempt(world: World, act: (place: Place) => void): void {
  const home = world.env["HOME"];
  if (!home) return;
  try {
    act({ folder: join(world.settings.home, "ssh"), config: join(home, ".ssh", "config") });
  } catch (error) {
    const why = messageOf(error);
    world.terminal.note(`Could not write the SSH configuration: ${why}`);
  }
}

const entryOf = ({ folder }: Place, name: string) => join(folder, "clusters", name);
const keyOf = ({ folder }: Place, name: string) => join(folder, "keys", name);
const hostKeyOf = ({ folder }: Place, name: string) => join(folder, "keys", `${name}.known_hosts`);

function removeEntry(place: Place, name: string): void {
  for (const file of [entryOf, keyOf, hostKeyOf]) rmSync(file(place, name), { force: true });
}

function writeEntry(
  world: World,
  place: Place,
  { name, nodes, credentials }: ClusterStatusRecord,
): void {
  const { ssh_user: user, ssh_private_key_content: key, ssh_host_key: hostKey } = credentials ?? {};
  if (key === undefined || hostKey === undefined) return;
  replaceFile(keyOf(place, name), key);
  replaceFile(hostKeyOf(place, name), `${product.word} ${hostKey}\n`);
  const entries = Array.from({ length: nodes }, (_, rank) => {
    const lines = [
      `Host ${rank === 0 ? name : `${name}-worker${rank}`}`,
      `HostKeyAlias ${product.word}`,
      `User ${user}`,
      `IdentityFile "${keyOf(place, name)}"`,
      "IdentitiesOnly yes",
      `UserKnownHostsFile "${hostKeyOf(place, name)}"`,
      "StrictHostKeyChecking yes",
      `ProxyCommand ${proxyCommand(world, name, rank)}`,
    ];
    return `${lines.join("\n  ")}\n`;
  });
  const comment = `# Written by ${product.word}, which removes it once ${name} is down.\n`;
  replaceFile(entryOf(place, name), comment + entries.join("\n"));
}

/** SSH gives `%` a meaning, and a shell all else. */
function proxyCommand({ settings, program }: World, name: string, rank: number): string {
  const { context, endpoint, home, origins } = settings;
  const isGiven = origins.endpoint.kind === "environment" && !isOfHome(settings);
  // A context says anew where its control plane is, unless a variable of the shell that starts SSH wins over it.
  const byContext = [
    ...envNames("ENDPOINT").flatMap((name) => ["-u", name]),
    `OUTRIGGER_CONTEXT=${context}`,
  ];
  const env = [
    ...(isGiven ? [`OUTRIGGER_ENDPOINT=${endpoint}`] : byContext),
    `OUTRIGGER_HOME=${home}`,
  ];
  const words = ["env", ...env, ...program, "shell", name, "--node", String(rank), "--stdio"];
  return words
    .map((word) => `'${word.replaceAll("'", "'\\\\''")}'`)
    .join(" ")
    .replaceAll("%", "%%");
}

/** What stands before the first `Host` holds for all. */
function include({ folder, config }: Place): void {
  const line = `Include "${join(folder, "clusters")}/*"`;
  const known = existsSync(config) ? readFileSync(config, "utf8") : "";
  if (known.split("\n").some((one) => one.trim() === line)) return;
  const file = existsSync(config) ? realpathSync(config) : config;
  replaceFile(file, `# Added by ${product.word}: the ways to its clusters.\n${line}\n\n${known}`);
}
