import { userOperations } from "../../contract/operations/users.ts";
import type { UserImportResult } from "../../contract/records/users.ts";
import { entryBy } from "../audit/entry.ts";
import { addAudit } from "../audit/store.ts";
import type { Call } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { atLine, type ImportRow, readRows } from "./import-rows.ts";
import { newUser } from "./new-user.ts";
import { hashPassword, isPasswordOf } from "./passwords.ts";
import { addUser, listNamed, type NewAccount, type WithPassword } from "./store.ts";
import { type Admitted, requireUnchanged } from "./unchanged.ts";

type Importer = Admitted & Pick<Call, "id" | "signal">;

/**
 * Creates the users of a CSV text: all of them, or none where one line is wrong. A line that says what
 * is so already is right.
 */
export async function importUsers(
  ctx: Ground,
  text: string,
  call: Importer,
): Promise<UserImportResult> {
  const { rows, faults } = readRows(text);
  const known = await findKnownOf(ctx, rows);
  const refusals: string[] = [];
  for (const row of rows) {
    call.signal.throwIfAborted();
    const problem = await problemOf(row, known.get(row.name));
    if (problem !== undefined) refusals.push(atLine(row.line, problem));
  }
  const isRight = faults.length === 0 && refusals.length === 0;
  const missing = rows.filter(({ name }) => !known.has(name));
  const taken = isRight ? await addAll(ctx, missing, call) : [];
  const errors = [...refusals, ...taken];
  const errorCount = faults.length + errors.length;
  return {
    success_count: errorCount === 0 ? rows.length : 0,
    error_count: errorCount,
    total_processed: rows.length,
    parse_errors: faults,
    creation_errors: errors,
  };
}

async function findKnownOf({ db }: Ground, rows: readonly ImportRow[]) {
  const users = await listNamed(
    db,
    rows.map(({ name }) => name),
  );
  return new Map(users.map((one) => [one.user.name, one]));
}

/** Why a row cannot be imported, beside users who come in at the same time. */
async function problemOf(
  { name, password, role }: ImportRow,
  known: WithPassword | undefined,
): Promise<string | undefined> {
  if (known === undefined)
    return password === undefined ? `${name} is new, and needs a password` : undefined;
  if (role !== undefined && role !== known.user.role)
    return `${name} exists with the role ${known.user.role}`;
  if (password === undefined) return undefined;
  if (known.password === null) return `${name} exists without a password`;
  const isSame = await isPasswordOf(known.password, password);
  return isSame ? undefined : `${name} exists with another password`;
}

/** Adds all, or none: what is wrong with those whose names were taken meanwhile. */
async function addAll(ctx: Ground, rows: readonly ImportRow[], call: Importer): Promise<string[]> {
  const users: { user: NewAccount; hash: string }[] = [];
  // One after the other: who logs in meanwhile has the other turn.
  for (const { name, password = "", role = ctx.config.defaultRole } of rows) {
    call.signal.throwIfAborted();
    users.push({
      user: newUser(ctx, { name, kind: "basic", role }),
      hash: await hashPassword(password),
    });
  }
  return ctx.batch(async (tx) => {
    await requireUnchanged(ctx, tx, call);
    const taken = new Set(
      (
        await listNamed(
          tx,
          users.map(({ user }) => user.name),
        )
      ).map(({ user }) => user.name),
    );
    if (taken.size === 0)
      for (const { user, hash } of users) {
        await addUser(tx, user, hash);
        const subject = `user ${user.name}: role ${user.role}, password`;
        // The entry about the call does not say whom the file names.
        await addAudit(tx, entryBy(ctx, call, userOperations.import, subject));
      }
    return rows
      .filter(({ name }) => taken.has(name))
      .map(({ line, name }) => atLine(line, `${name} was created by someone else meanwhile`));
  });
}
