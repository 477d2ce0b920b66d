import type { OutputOf } from "../../common/operation.ts";
import { tokenOperations as rows } from "../../contract/operations/tokens.ts";
import type { Command } from "../catalog.ts";
import { newTokenForm, roleForm, type TokenRecord, tokenForm } from "../output/access.ts";
import { ago, type Column } from "../rendering.ts";
import { agree, kindOf, requireAll, type SelectionOptions } from "../selection.ts";
import type { World } from "../world.ts";
import { answerOne, listing, type OutputOptions } from "./answers.ts";
import { deleteSelected } from "./directly.ts";

type Words = readonly string[];

const columnsOf = (now: Date): Column<TokenRecord>[] => [
  { title: "NAME", text: (row) => row.token_name, least: 12 },
  { title: "ROLE", text: (row) => row.service_account_roles.join() },
  { title: "CREATOR", text: (row) => row.creator_name, least: 8, spare: true },
  { title: "LAST USED", text: (row) => ago(row.last_used_at, now), spare: true },
  {
    title: "EXPIRES",
    text: ({ expires_at: at }) => (at === null ? "never" : dayOf(at)),
    style: ({ expires_at: at }) => (at !== null && at * 1_000 <= now.getTime() ? "red" : undefined),
  },
];

/** `outrigger tokens list`. */
export const list = listing({
  read: (client) => client.call(rows.list, {}),
  form: tokenForm,
  columns: columnsOf,
  empty: "No tokens. Create one: outrigger tokens create NAME",
});

const dayOf = (seconds: number) => new Date(seconds * 1_000).toISOString().slice(0, 10);

/** `outrigger tokens create`. */
export const create: Command<"tokens create"> = async (world, [name = ""], options) => {
  const client = await world.connect();
  const { role = null as never, expiresInDays: days = null as never } = options;
  const input = { token_name: name, role, expires_in_days: days };
  return tellSecret(world, options, await client.call(rows.create, input));
};

/** `outrigger tokens rotate`. */
export const rotate: Command<"tokens rotate"> = async (world, [name = ""], options) => {
  const { id } = await getToken(world, name);
  const question = `Replace token ${name}? The old one stops working.`;
  if (!options.yes) await agree(world, question, { isFinal: true });
  const client = await world.connect();
  const input = { token_id: id, expires_in_days: options.expiresInDays ?? (null as never) };
  return tellSecret(world, options, await client.call(rows.rotate, input));
};

function tellSecret(
  world: World,
  options: OutputOptions,
  made: OutputOf<typeof rows.create>,
): undefined {
  if (world.json) return answerOne(world, options, newTokenForm, made);
  const { terminal } = world;
  const end =
    made.expires_at === null ? "It does not expire." : `Expires ${dayOf(made.expires_at)}.`;
  terminal.answer(made.token);
  terminal.note(`Save token ${made.token_name} now: it is not shown again. ${end}`);
  terminal.note("To use it: export OUTRIGGER_TOKEN=<token>");
}

/** `outrigger tokens role`. */
export const role: Command<"tokens role"> = async (world, [name = "", wanted], options) => {
  const token_id = (await getToken(world, name)).id;
  const client = await world.connect();
  if (wanted !== undefined) await client.call(rows.updateRole, { token_id, role: wanted });
  const { roles } = await client.call(rows.getRole, { token_id });
  const has = roles.join();
  if (world.json) return answerOne(world, options, roleForm, { name, role: has });
  world.terminal.answer(has);
};

/** `outrigger tokens delete`. */
export const remove = (world: World, words: Words, options: SelectionOptions): Promise<undefined> =>
  deleteSelected(world, tokens, words, options, (client, { id }) =>
    client.call(rows.delete, { token_id: id }),
  );

/** The token of this name; throws `NotFoundError`. */
async function getToken(world: World, name: string): Promise<{ id: string; name: string }> {
  const found = await tokens.list(await world.connect(), [name]);
  await requireAll(world, [name], found, tokens);
  return found.find((one) => one.name === name) ?? { id: name, name };
}

const tokens = kindOf("token", "tokens list", async (client) =>
  (await client.call(rows.list, {})).map(({ token_id: id, token_name: name }) => ({ id, name })),
);
