import { parse } from "yaml";
import { fail } from "../../common/errors.ts";
import { userOperations } from "../../contract/operations/users.ts";
import { workspaceOperations as rows } from "../../contract/operations/workspaces.ts";
import { type WorkspaceConfig, WorkspaceLimits } from "../../contract/records/workspaces.ts";
import { hintOf } from "../../contract/spelling.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { readBytes } from "../named-file.ts";
import { type WorkspaceRow, workspaceForm } from "../output/workspaces.ts";
import type { Column } from "../rendering.ts";
import type { Run, World } from "../world.ts";
import { tellDone } from "./actions.ts";
import { answerRows, type OutputOptions } from "./answers.ts";

type Words = readonly string[];

/** `outrigger workspaces list`. */
export async function list(world: World, _names: Words, options: OutputOptions) {
  const client = await world.connect();
  const [configs, uses, { workspace }] = await Promise.all([
    client.callAndGet(rows.get, {}),
    client.call(rows.use, {}),
    client.call(userOperations.workspace, { requested: world.settings.workspace ?? null }),
  ]);
  const found = uses.map(
    (of): WorkspaceRow => ({
      of,
      config: configs[of.workspace] ?? {},
      current: of.workspace === workspace,
    }),
  );
  const empty = "You are in no workspace; ask an administrator to add you to one.";
  answerRows(world, options, { form: workspaceForm, rows: found, columns, empty });
  for (const { spent } of uses) if (spent !== null && !world.json) world.terminal.note(spent);
  return undefined;
}

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

/** What is used, and of how much: `2/10`. */
const share = (use: string | number, limit: string | number | undefined): string =>
  limit === undefined ? `${use}` : `${use}/${limit}`;

const money = (use: number, limit: number | undefined): string =>
  share(dollars(use), limit === undefined ? undefined : dollars(limit));

const columns: Column<WorkspaceRow>[] = [
  { title: "NAME", text: ({ of }) => of.workspace, least: 20 },
  { title: "IN USE", text: ({ current }) => (current ? "yes" : "") },
  { title: "OPEN TO", text: ({ config }) => openTo(config), least: 12, spare: true },
  { title: "CLUSTERS", text: ({ of: { use, limits } }) => share(use.clusters, limits.clusters) },
  {
    title: "ACCELERATORS",
    text: ({ of: { use, limits } }) => share(use.accelerators, limits.accelerators),
    spare: true,
  },
  {
    title: "TODAY",
    text: ({ of: { use, limits } }) => money(use.dollars_per_day, limits.dollars_per_day),
    spare: true,
  },
  {
    title: "THIS MONTH",
    text: ({ of: { use, limits } }) => money(use.dollars_per_month, limits.dollars_per_month),
    spare: true,
  },
];

function openTo({ private: isPrivate, allowed_users = [], allowed_groups = [] }: WorkspaceConfig) {
  if (!isPrivate) return "everyone";
  const groups = allowed_groups.map((group) => `group ${group}`);
  return [...allowed_users, ...groups].join(", ") || "admins";
}

type ChangeOptions = OptionsOf<"workspaces update">;

/** `outrigger workspaces create`. */
export async function create(world: World, [name = ""]: Words, options: ChangeOptions) {
  const config = { ...changed({}, world, options) };
  const client = await world.connect();
  await client.callAndGet(rows.create, { workspace_name: name, config });
  world.terminal.note(`Workspace ${name} is created.`);
  return tellDone(world, "workspaces create", name);
}

/** `outrigger workspaces update`. */
export async function update(world: World, [name = ""]: Words, options: ChangeOptions) {
  if (Object.values(options).every((value) => value === undefined))
    fail("UsageError", "say what to change: outrigger workspaces update --help lists the options");
  const client = await world.connect();
  const before = (await client.callAndGet(rows.get, {}))[name];
  const config = { ...changed(before ?? {}, world, options) };
  await client.callAndGet(rows.update, { workspace_name: name, config });
  world.terminal.note(`Workspace ${name} is updated.`);
  return tellDone(world, "workspaces update", name);
}

function changed(
  before: WorkspaceConfig,
  world: World,
  { file, addUser = [], removeUser = [], limit = [], ...access }: ChangeOptions,
): WorkspaceConfig {
  const base =
    file === undefined ? before : (parse(readBytes(world, file).toString()) as WorkspaceConfig);
  const users = (base?.allowed_users ?? []).filter((user) => !removeUser.includes(user));
  const limits = { ...base?.limits, ...Object.fromEntries(limit.map(limitOf)) };
  return {
    ...base,
    ...((access.private || access.public) && { private: access.private === true }),
    ...(addUser.length + removeUser.length > 0 && {
      allowed_users: [...new Set([...users, ...addUser])],
    }),
    ...(limit.length > 0 && { limits }),
  };
}

/** A limit as `clusters=10`; nothing behind the sign takes it away. */
function limitOf(text: string): [name: string, value: number | undefined] {
  const [name = "", value = ""] = text.split("=");
  const known = Object.keys(WorkspaceLimits.shape);
  if (!known.includes(name))
    fail(
      "UsageError",
      `--limit: there is no limit ${name}; ${hintOf(name, known, known.join(", "))}`,
    );
  if (!/^\d*\.?\d*$/.test(value) || !text.includes("="))
    fail("UsageError", `--limit: write ${name}=NUMBER, or ${name}= for no limit`);
  return [name, value === "" ? undefined : Number(value)];
}

/** `outrigger workspaces delete`. */
export const remove: Run<object> = async (world, names) => {
  const client = await world.connect();
  for (const name of names) await client.callAndGet(rows.delete, { workspace_name: name });
  for (const name of names) world.terminal.note(`Workspace ${name} is deleted.`);
  tellDone(world, "workspaces delete", ...names);
};

/** `outrigger workspaces use`. */
export const use: Command<"workspaces use"> = async (world, [name], { clear = false }) => {
  if ((name === undefined) !== clear)
    fail("UsageError", "name a workspace, or take the choice back with --clear");
  const client = await world.connect();
  await client.call(userOperations.preferWorkspace, { preferred: name ?? null });
  const { workspace } = await client.call(userOperations.workspace, { requested: null });
  world.terminal.note(`Your launches go to workspace ${workspace ?? "(none)"} now.`);
  const { workspace: set } = world.settings;
  if (set !== undefined)
    world.terminal.note(`But here they go to ${set}: OUTRIGGER_WORKSPACE or the context says so.`);
  tellDone(world, "workspaces use", name ?? null);
};
