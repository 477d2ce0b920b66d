import { fail } from "../../common/errors.ts";
import type { Role } from "../../contract/roles.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { capAccountsOf } from "../tokens/store.ts";
import { requireUserName } from "./names.ts";
import { newUser } from "./new-user.ts";
import type { Account } from "./schema.ts";
import { addUser, findUserByName, setUser } from "./store.ts";

type Settings = Ground["config"];

const groupsAtMost = 200;

/** A login that somebody else than control has checked. */
export interface Login extends Pick<Account, "name" | "kind" | "groups"> {}

/**
 * The user who logs in, created at the first login. Groups, and the role that they give, are those of
 * this login. Throws `ValueError` for an impossible name, and `PermissionDeniedError` for the name of
 * a user with a password, whom nobody else speaks for.
 */
export async function ensureUser(ctx: Ground, given: Login): Promise<Account> {
  const login = { ...given, groups: kept(ctx.config, given.groups) };
  requireUserName(login.name);
  const known = await findUserByName(ctx.db, login.name);
  if (known !== undefined && isUpToDate(ctx.config, known, login)) return known;
  const user = await ctx.batch(async (tx) => {
    const before = await findUserByName(tx, login.name);
    return before === undefined ? create(ctx, tx, login) : update(ctx, tx, before, login);
  });
  const { id: userId, name, role } = user;
  ctx.log.info({ userId, name, role }, known ? "user changed at login" : "user created at login");
  return user;
}

/** Groups in their order; of too many, those that decide the role stay. */
function kept({ adminGroups, viewerGroups }: Settings, groups: readonly string[]): string[] {
  const sorted = [...new Set(groups)].sort();
  const decide = (group: string) => adminGroups.includes(group) || viewerGroups.includes(group);
  const others = sorted.filter((group) => !decide(group));
  return [...sorted.filter(decide), ...others].slice(0, groupsAtMost).sort();
}

async function create(ctx: Ground, tx: Connection, login: Login): Promise<Account> {
  const group = roleAfter(ctx.config, undefined, login);
  const user = newUser(ctx, { ...login, ...group });
  await addUser(tx, user);
  return { ...user, ...group, hasPassword: false };
}

async function update(
  { config }: Ground,
  tx: Connection,
  before: Account,
  { name, kind, groups }: Login,
): Promise<Account> {
  if (before.hasPassword && before.kind !== kind)
    fail(
      "PermissionDeniedError",
      `${name} logs in with a password; an administrator can change it`,
    );
  const change = { kind, groups, ...roleAfter(config, before, { groups }) };
  await setUser(tx, before.id, change);
  await capAccountsOf(tx, before.id, change.role);
  return { ...before, ...change };
}

type GroupRole = Pick<Account, "role" | "hasGroupRole">;

/** The role that a login brings: of its groups, else what an administrator set, else the default one. */
function roleAfter(
  config: Settings,
  before: GroupRole | undefined,
  { groups }: Pick<Login, "groups">,
): GroupRole {
  const given = roleOfGroups(config, groups);
  if (given !== undefined) return { role: given, hasGroupRole: true };
  if (before?.hasGroupRole === false) return { role: before.role, hasGroupRole: false };
  return { role: config.defaultRole, hasGroupRole: false };
}

function roleOfGroups(
  { adminGroups, viewerGroups }: Settings,
  groups: readonly string[],
): Role | undefined {
  if (groups.some((group) => adminGroups.includes(group))) return "admin";
  return groups.some((group) => viewerGroups.includes(group)) ? "viewer" : undefined;
}

function isUpToDate(config: Settings, known: Account, login: Login): boolean {
  const { role, hasGroupRole } = roleAfter(config, known, login);
  return (
    known.kind === login.kind &&
    known.role === role &&
    known.hasGroupRole === hasGroupRole &&
    JSON.stringify(known.groups) === JSON.stringify(login.groups)
  );
}
