import { basename } from "node:path";
import { fail } from "../../common/errors.ts";
import type { OutputOf } from "../../common/operation.ts";
import { sshNodePoolOperations as rows } from "../../contract/operations/ssh-node-pools.ts";
import { hintOf, listedBy } from "../../contract/spelling.ts";
import type { Command } from "../catalog.ts";
import { keyForm, poolForm } from "../output/control.ts";
import type { Column } from "../rendering.ts";
import type { Client } from "../sdk.ts";
import { uploadKey, writePools } from "../ssh-pools.ts";
import type { Run, World } from "../world.ts";
import { tellActions, tellDone } from "./actions.ts";
import { answerJson, answerRows, type OutputOptions } from "./answers.ts";
import { carryOutAll } from "./carry-out.ts";

type Words = readonly string[];
type Status = OutputOf<typeof rows.status>;

/** `outrigger ssh up`. */
export const up: Command<"ssh up"> = async (world, names, options) => {
  const written = options.file === undefined ? [] : await writePools(world, options.file);
  await eachPool(world, names.length > 0 ? names : written, {
    row: rows.deployAll,
    title: (hosts) => `Making ${hosts} ready`,
  });
};

/** `outrigger ssh down`. */
export const down: Command<"ssh down"> = (world, names, { force = false }) =>
  eachPool(world, names, { row: rows.downAll, force, title: (hosts) => `Cleaning ${hosts}` });

interface PoolAction {
  readonly row: (typeof rows)["deployAll" | "downAll"];
  readonly force?: boolean;
  readonly title: (hosts: string) => string;
}

/** Each pool by itself, or all at once. */
async function eachPool(
  world: World,
  names: Words,
  { row, title, force }: PoolAction,
): Promise<undefined> {
  const isEmpty = names.length === 0 && (await listPools(await world.connect())).length === 0;
  if (isEmpty) {
    world.terminal.note(noPools);
    return tellActions(world, []);
  }
  const submissions = (names.length > 0 ? names : [null]).map((infra) => ({
    name: infra ?? "every pool",
    title: title(infra === null ? "every host" : `the hosts of ${infra}`),
    input: { infra, ...(force && { force }) },
  }));
  await carryOutAll(world, row, submissions, { later: false, answers: true });
}

/** `outrigger ssh forget`: tells what is still ours on the hosts. */
export const forget: Run<object> = async (world, names) => {
  const client = await world.connect();
  const pools = names.map(poolOf);
  for (const name of pools) {
    await client.call(rows.delete, { pool_name: name });
    world.terminal.note(`Forgot the pool ${name}.`);
    const { hosts: left } = await client.call(rows.status, { pool_name: name });
    for (const { name: host, reason } of left) world.terminal.note(`${name}/${host}: ${reason}`);
  }
  return tellDone(world, "ssh forget", ...pools);
};

const noPools = "No pools. Describe some in a file, then: outrigger ssh up -f FILE";

const listPools = async (client: Client): Promise<string[]> =>
  Object.keys(await client.call(rows.list, {}));

/** `outrigger ssh status`. */
export const status: Run<OutputOptions> = async (world, names, options) => {
  const client = await world.connect();
  const known = await listPools(client);
  const asked = names.length > 0 ? names.map(poolOf) : known;
  const found = await Promise.all(
    asked.map((pool_name) => client.call(rows.status, { pool_name })),
  );
  // A pool that is forgotten is told of while something is left on its hosts.
  for (const { pool_name: name, hosts } of found)
    if (!known.includes(name) && hosts.length === 0)
      fail("NotFoundError", `there is no pool ${name}; ${hintOf(name, known, lister)}`);
  if (world.json) answerJson(world, options, poolForm, found);
  else answerRows(world, options, { ...hostTable, rows: found.flatMap(hostsOf) });
};

const poolOf = (name: string): string => name.replace(/^ssh\//, "");

const lister = listedBy("ssh status");

interface HostRow {
  readonly pool: string;
  readonly name: string;
  readonly status: Status["status"];
  readonly reason: string;
}

/** A pool without hosts has its own line. */
const hostsOf = ({ pool_name: pool, status: state, reason, hosts }: Status): HostRow[] =>
  hosts.length === 0
    ? [{ pool, name: "-", status: state, reason }]
    : hosts.map((host) => ({ pool, ...host }));

const columns: Column<HostRow>[] = [
  { title: "POOL", text: ({ pool }) => pool },
  { title: "HOST", text: ({ name }) => name },
  {
    title: "STATUS",
    text: ({ status: state }) => state,
    style: ({ status: state }) => (state === "Ready" ? "green" : "yellow"),
  },
  { title: "HOW IT IS", text: ({ reason }) => reason, least: 12, wraps: true },
];

const hostTable = { form: null, columns, empty: noPools };

/** `outrigger ssh keys`. */
export const keys: Run<OutputOptions> = async (world, files, options) => {
  const client = await world.connect();
  for (const file of files)
    world.terminal.note(`Uploaded ${await uploadKey(world, file, basename(file))}.`);
  if (files.length > 0) return;
  const names = await client.call(rows.listKeys, {});
  const found = names.map((name) => ({ name }));
  const column = { title: "NAME", text: ({ name }: { name: string }) => name };
  answerRows(world, options, {
    form: keyForm,
    rows: found,
    columns: [column],
    empty: "No keys.",
  });
};
