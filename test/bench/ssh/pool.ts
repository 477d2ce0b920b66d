import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sshNodePoolOperations as rows } from "../../../contract/operations/ssh-node-pools.ts";
import {
  type SshHost,
  type SshHostOptions,
  startSshHost,
  whyNoHosts,
} from "../../helpers/ssh-hosts.ts";
import type { Control } from "../lab.ts";

/** Machines with real SSH servers, each in a network of its own; gone with the pool. */
export interface Hosts extends AsyncDisposable {
  readonly hosts: readonly SshHost[];
}

/** An entry of a pool's document. */
export interface Entry {
  readonly ip: string;
  readonly user: string;
  readonly identity_file: string;
}

const atOnce = 4;

/** Starts machines; throws where there can be none. */
export async function startHosts(count: number, options: SshHostOptions = {}): Promise<Hosts> {
  const why = whyNoHosts();
  if (why !== false) throw new Error(`no hosts here: ${why}`);
  await using stack = new AsyncDisposableStack();
  const cleaner = { after: (clean: () => Promise<void>) => stack.defer(clean) };
  const hosts: SshHost[] = [];
  while (hosts.length < count) {
    const missing = Array.from({ length: Math.min(atOnce, count - hosts.length) });
    hosts.push(...(await Promise.all(missing.map(() => startSshHost(cleaner, options)))));
  }
  const whole = stack.move();
  return { hosts, [Symbol.asyncDispose]: () => whole.disposeAsync() };
}

/** The entry of a machine; its key is written down for control. */
export function entryOf({ home }: Control, { address, key }: SshHost): Entry {
  const file = join(home, `key-${address}`);
  writeFileSync(file, key, { mode: 0o600 });
  return { ip: address, user: "ana", identity_file: file };
}

/** Writes the pool `lab` down. */
export async function putPool({ endpoint }: Control, hosts: readonly Entry[]): Promise<void> {
  const answer = await fetch(`${endpoint}/ssh_node_pools`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ lab: { hosts } }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Deploys the pool `lab`; throws what was printed when a machine is not ready then. */
export async function deploy({ client }: Control): Promise<void> {
  const chunks: Buffer[] = [];
  const sink = { write: (bytes: Buffer) => void chunks.push(bytes), control() {} };
  await client.callAndStream(rows.deploy, { pool_name: "lab" }, sink).catch((cause: unknown) => {
    throw new Error(Buffer.concat(chunks).toString(), { cause });
  });
}

/** A task on a node of the pool, without anything to run. */
export const onPool = JSON.stringify({ resources: { infra: "ssh/lab" } });
