import { basename } from "node:path";
import { sshNodePoolOperations as rows } from "../contract/operations/ssh-node-pools.ts";
import { readStdin } from "./entrypoint.ts";
import { isFields } from "./failures.ts";
import { readBytes } from "./named-file.ts";
import { readPools } from "./pool-text.ts";
import type { World } from "./world.ts";

/** The keys that were uploaded, by their file; where control has each. */
type Uploaded = Map<string, string>;

/** Writes the pools of a YAML file down, their keys uploaded; answers their names. */
export async function writePools(world: World, file: string): Promise<string[]> {
  const client = await world.connect();
  const text =
    file === "-" ? await readStdin(world.streams.stdin) : readBytes(world, file).toString();
  const document = readPools(file, text);
  const uploaded: Uploaded = new Map();
  const pools: Record<string, unknown> = {};
  for (const [name, pool] of Object.entries(document))
    pools[name] = await withKeys(world, pool, uploaded);
  await client.call(rows.update, pools);
  return Object.keys(pools);
}

/** Uploads the key of a file under a name; answers where control has it. */
export async function uploadKey(world: World, file: string, name: string): Promise<string> {
  const client = await world.connect();
  const form = new FormData();
  form.set("key_name", name);
  form.set("key_file", new Blob([readBytes(world, file)]), name);
  return (await client.upload(rows.uploadKey, form)).key_path;
}

/** A pool or a host whose keys, and those of its hosts, are where control has them. */
async function withKeys(world: World, one: unknown, uploaded: Uploaded): Promise<unknown> {
  if (!isFields(one)) return one;
  const { identity_file: file, hosts } = one;
  const moved: unknown[] = [];
  for (const host of Array.isArray(hosts) ? hosts : [])
    moved.push(await withKeys(world, host, uploaded));
  return {
    ...one,
    ...(typeof file === "string" && { identity_file: await keyOf(world, file, uploaded) }),
    ...(Array.isArray(hosts) && { hosts: moved }),
  };
}

/** Files of one name in several folders do not take each other's place. */
async function keyOf(world: World, file: string, uploaded: Uploaded): Promise<string> {
  const known = uploaded.get(file);
  if (known !== undefined) return known;
  const twins = [...uploaded.keys()].filter((other) => basename(other) === basename(file));
  const name = twins.length === 0 ? basename(file) : `${basename(file)}-${twins.length + 1}`;
  const path = await uploadKey(world, file, name);
  uploaded.set(file, path);
  return path;
}
