import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { userOperations as rows } from "../../contract/operations/users.ts";
import type { UserRecord } from "../../contract/records/users.ts";
import { digestOf } from "../access/digest.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { endSessionsOf } from "../sessions/store.ts";
import { seconds } from "../wire/fields.ts";
import { exportUsers } from "./export.ts";
import { importUsers } from "./import.ts";
import { requireUserName } from "./names.ts";
import { newUser } from "./new-user.ts";
import { hashPassword, requirePassword } from "./passwords.ts";
import { removeUser } from "./remove.ts";
import { giveRole, readRole, requireOtherAdmin } from "./roles.ts";
import type { Account } from "./schema.ts";
import { addUser, findUser, findUserByName, listUsers, setUser } from "./store.ts";
import { requireUnchanged } from "./unchanged.ts";

/** Users, their roles and passwords. */
export const userOperations: Bound[] = [
  bind(rows.list, async ({ db }) => (await listUsers(db)).map(toRecord)),
  bind(rows.role, async (_ctx, _input, { user, role }) => ({ ...user, role })),
  bind(rows.create, createUser),
  bind(rows.update, updateUser),
  bind(rows.delete, deleteUser),
  bind(rows.import, (ctx, { csv_content: text }, call) => importUsers(ctx, text, call)),
  bind(rows.export, async ({ db }) => exportUsers(await listUsers(db))),
];

const toRecord = ({ id, name, role, kind, hasPassword, createdAt }: Account): UserRecord => ({
  id,
  name,
  role,
  user_type: kind,
  has_password: hasPassword,
  created_at: seconds(createdAt),
});

async function createUser(
  ctx: Ground,
  { username: name, password, role }: InputOf<typeof rows.create>,
  call: Call,
): Promise<null> {
  requireUserName(name);
  requirePassword(password);
  const user = newUser(ctx, {
    name,
    kind: "basic",
    role: role === null ? ctx.config.defaultRole : readRole(role),
  });
  if (await findUserByName(ctx.db, name)) fail("ValueError", taken(name));
  const hash = await hashPassword(password);
  await ctx.batch(async (tx) => {
    await requireUnchanged(ctx, tx, call);
    if (!(await addUser(tx, user, hash))) fail("ValueError", taken(name));
  });
  return null;
}

const taken = (name: string) => `user ${name} already exists`;

/** That others than administrators change nobody else, and no role, is a rule of the row. */
async function updateUser(
  ctx: Ground,
  { user_id: id, role, password }: InputOf<typeof rows.update>,
  call: Call,
): Promise<null> {
  const given = role === null ? undefined : readRole(role);
  if (password !== null) requirePassword(password);
  await getPerson(ctx.db, id);
  const hash = password === null ? undefined : await hashPassword(password);
  await ctx.batch(async (tx) => {
    await requireUnchanged(ctx, tx, call);
    const user = await getPerson(tx, id);
    if (given !== undefined && given !== user.role) await giveRole(tx, user, given);
    if (hash !== undefined) await setPassword(tx, user, hash, call);
  });
  return null;
}

/** Whoever knew the old password is logged out; the session that changed it goes on. */
async function setPassword(
  tx: Connection,
  { id, name, kind }: Account,
  password: string,
  { user, origin }: Call,
): Promise<void> {
  if (kind !== "basic")
    fail("ValueError", `${name} logs in through another provider and has no password here`);
  await setUser(tx, id, { password });
  const session = user.id === id ? (origin?.session ?? null) : null;
  await endSessionsOf(tx, id, session === null ? null : digestOf(session));
}

async function deleteUser(
  ctx: Ground,
  { user_id: id }: InputOf<typeof rows.delete>,
): Promise<null> {
  await ctx.batch(async (tx) => {
    const user = await getPerson(tx, id);
    await requireOtherAdmin(tx, user, "delete");
    await removeUser(tx, user, user.name);
  });
  return null;
}

/** The user with this id; throws `ValueError` for none, and for service accounts. */
async function getPerson(db: Ground["db"] | Connection, id: string): Promise<Account> {
  const user = await findUser(db, id);
  if (user === undefined) return fail("ValueError", `there is no user ${id}`);
  if (user.kind === "sa")
    fail("ValueError", `${user.name} is a service account; change or delete its token instead`);
  return user;
}
