import { fail } from "../../common/errors.ts";
import { userOperations as rows } from "../../contract/operations/users.ts";
import type { UserRecord } from "../../contract/records/users.ts";
import type { Command } from "../catalog.ts";
import { userForm } from "../output/access.ts";
import { readPassword } from "../passwords.ts";
import { ago, type Column } from "../rendering.ts";
import { kindOf, requireAll, type SelectionOptions } from "../selection.ts";
import type { World } from "../world.ts";
import { tellDone } from "./actions.ts";
import { listing } from "./answers.ts";
import { deleteSelected } from "./directly.ts";

type Words = readonly string[];

const columnsOf = (now: Date): Column<UserRecord>[] => [
  { title: "NAME", text: ({ id, name }) => name ?? id, least: 12 },
  { title: "ROLE", text: ({ role }) => role },
  { title: "LOGIN", text: loginOf, spare: true },
  { title: "CREATED", text: ({ created_at: at }) => ago(at, now), spare: true },
];

/** `outrigger users list`. */
export const list = listing({
  read: (client) => client.call(rows.list, {}),
  form: userForm,
  columns: columnsOf,
  empty: "No users. Create one: outrigger users create NAME",
});

function loginOf({ user_type: kind, has_password: hasPassword }: UserRecord): string {
  if (kind !== "basic") return kind;
  return hasPassword ? "password" : "no password yet";
}

/** `outrigger users create`. */
export const create: Command<"users create"> = async (
  world,
  [username = ""],
  { role, passwordStdin = false },
) => {
  const client = await world.connect();
  const password = await readPassword(world, passwordStdin);
  await client.call(rows.create, { username, password, role: role ?? null });
  world.terminal.note(`Created user ${username}.`);
  return tellDone(world, "users create", username);
};

/** `outrigger users update`. */
export const update: Command<"users update"> = async (
  world,
  [name = ""],
  { role = null as never, password: asks = false, passwordStdin = false },
) => {
  const setsPassword = asks || passwordStdin;
  if (role === null && !setsPassword)
    fail("UsageError", "say what to change: --role ROLE, --password or --password-stdin");
  const client = await world.connect();
  const [user] = await users.list(client, [name]);
  await requireAll(world, [name], user ? [user] : [], users);
  const password = setsPassword ? await readPassword(world, passwordStdin) : null;
  await client.call(rows.update, { user_id: user?.id ?? "", role, password });
  world.terminal.note(`Changed user ${name}.`);
  return tellDone(world, "users update", name);
};

/** `outrigger users delete`. */
export const remove = (world: World, words: Words, options: SelectionOptions): Promise<undefined> =>
  deleteSelected(world, users, words, options, (client, { id }) =>
    client.call(rows.delete, { user_id: id }),
  );

const users = kindOf("user", "users list", async (client) =>
  (await client.call(rows.list, {})).map((user) => ({ ...user, name: user.name ?? user.id })),
);
