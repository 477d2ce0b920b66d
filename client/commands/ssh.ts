import { basename } from "node:path";
import { fail } from "../../common/errors.ts";
import type { OutputOf } from "../../common/operation.ts";
import { sshNodePoolOperations as rows } from "../../contract/operations/ssh-node-pools.ts";
import { hintOf } from "../../contract/spelling.ts";
import type { Column } from "../rendering.ts";
import type { Client } from "../sdk.ts";
import { uploadKey, writePools } from "../ssh-pools.ts";
import type { World } from "../world.ts";
import { answerRows, type OutputOptions } from "./answers.ts";
import { carryOutAll } from "./carry-out.ts";

type Words = readonly string[];
type Status = OutputOf<typeof rows.status>;

/** `outrigger ssh up`. */
export async function up(
  world: World,
  names: Words,
  options: { readonly file?: string },
): Promise<undefined> {
  const written = options.file === undefined ? [] : await writePools(world, options.file);
  await eachPool(world, names.length > 0 ? names : written, {
    row: rows.deployAll,
    title: (hosts) => `Making ${hosts} ready`,
  });
}

/** `outrigger ssh down`. */
export const down = (
  world: World,
  names: Words,
  { force = false }: { readonly force?: boolean },
): Promise<undefined> =>
  eachPool(world, names, { row: rows.downAll, force, title: (hosts) => `Cleaning ${hosts}` });

interface PoolDeed {
  readonly row: (typeof rows)["deployAll" | "downAll"];
  readonly force?: boolean;
  readonly title: (hosts: string) => string;
}

/** Each pool by itself, or all at once. */
async function eachPool(
  world: World,
  names: Words,
  { row, title, force }: PoolDeed,
): Promise<undefined> {
  const isEmpty = names.length === 0 && (await listPools(await world.connect())).length === 0;
  if (isEmpty) return void world.terminal.note(noPools);
  const errands = (names.length > 0 ? names : [null]).map((infra) => ({
    name: infra ?? "every pool",
    title: title(infra === null ? "every host" : `the hosts of ${infra}`),
    input: { infra, ...(force && { force }) },
    done() {},
  }));
  await carryOutAll(world, row, errands, { later: false, answers: true });
}

const noPools = "No pools. Write some down in a file, then: outrigger ssh up -f FILE";

const listPools = async (client: Client): Promise<string[]> =>
  Object.keys(await client.call(rows.list, {}));

/** `outrigger ssh status`. */
export async function status(
  world: World,
  names: Words,
  options: OutputOptions,
): Promise<undefined> {
  const client = await world.connect();
  const known = await listPools(client);
  const asked = names.map((name) => name.replace(/^ssh\//, ""));
  for (const name of asked)
    if (!known.includes(name))
      fail("NotFoundError", `there is no pool ${name}; ${hintOf(name, known, lister)}`);
  const found = await Promise.all(
    (asked.length > 0 ? asked : known).map((pool_name) => client.call(rows.status, { pool_name })),
  );
  if (options.output === "json") world.terminal.answer(JSON.stringify(found, null, 2));
  else answerRows(world, options, { ...hostTable, rows: found.flatMap(hostsOf) });
}

const lister = "ssh status lists them";

/** The reason of a pool has a line for each host. */
const hostsOf = ({ pool_name: pool, status: state, reason }: Status) =>
  reason.split("\n").map((line) => {
    const at = line.indexOf(": ");
    return { pool, state, host: line.slice(0, Math.max(0, at)), how: line.slice(at + 1).trim() };
  });

const columns: Column<ReturnType<typeof hostsOf>[number]>[] = [
  { title: "POOL", text: ({ pool }) => pool },
  {
    title: "STATUS",
    text: ({ state }) => state,
    style: ({ state }) => (state === "Ready" ? "green" : "yellow"),
  },
  { title: "HOST", text: ({ host }) => host },
  { title: "HOW IT IS", text: ({ how }) => how },
];

/** Why a host cannot be used is said whole. */
const hostTable = { columns, isWhole: true, empty: noPools };

/** `outrigger ssh keys`. */
export async function keys(world: World, files: Words, options: OutputOptions): Promise<undefined> {
  const client = await world.connect();
  for (const file of files)
    world.terminal.note(`Uploaded ${await uploadKey(world, file, basename(file))}.`);
  if (files.length > 0) return;
  const names = await client.call(rows.listKeys, {});
  const found = names.map((name) => ({ name }));
  const column = { title: "NAME", text: ({ name }: { name: string }) => name };
  answerRows(world, options, { rows: found, columns: [column], empty: "No keys." });
}
