import { fail } from "../../common/errors.ts";
import { isRole, type Role, roleNames } from "../../contract/roles.ts";
import { localUserId } from "../access/identity.ts";
import type { Connection, Queries } from "../db/open.ts";
import { capAccountsOf } from "../tokens/store.ts";
import type { Account } from "./schema.ts";
import { findUser, hasAdmin, setUser } from "./store.ts";

/** The role that a word names; throws `ValueError`. */
export const readRole = (word: string): Role =>
  isRole(word)
    ? word
    : fail(
        "ValueError",
        `there is no role ${JSON.stringify(word)}; expected one of ${rolesInWords}`,
      );

const rolesInWords = roleNames.join(", ");

/** The role that a user has now; undefined for one who was deleted. */
export const roleNow = async (db: Queries, userId: string): Promise<Role | undefined> =>
  userId === localUserId ? "admin" : (await findUser(db, userId))?.role;

/** Gives a user another role by hand; throws `ValueError` where no administrator would be left. */
export async function giveRole(tx: Connection, user: Account, role: Role): Promise<void> {
  if (role !== "admin") await requireOtherAdmin(tx, user, "change the role of");
  await setUser(tx, user.id, { role, hasGroupRole: false });
  await capAccountsOf(tx, user.id, role);
}

/** Throws `ValueError` for the last administrator. */
export async function requireOtherAdmin(
  db: Queries,
  { id, name, kind, role }: Account,
  verb: string,
): Promise<void> {
  if (role !== "admin" || kind === "sa" || (await hasAdmin(db, id))) return;
  fail(
    "ValueError",
    `${name} is the last administrator; make another user one, then ${verb} ${name}`,
  );
}
