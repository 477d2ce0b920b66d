import { AppError, toAppError } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import type { NewAudit } from "../audit/schema.ts";
import { addAudit } from "../audit/store.ts";
import type { Ground } from "../ground.ts";
import { requireUserName } from "./names.ts";
import { newUser } from "./new-user.ts";
import { addUser, findUserByName, hasAdmin, setUser } from "./store.ts";

/**
 * Creates the user that settings name as the first administrator, or promotes the user, as long as there
 * is no administrator. Throws `ConfigError` for an impossible name.
 */
export async function ensureFirstAdmin(ctx: Ground): Promise<void> {
  const { firstAdmin: name, login } = ctx.config;
  if (name === undefined) return;
  try {
    requireUserName(name);
  } catch (error) {
    throw new AppError("ConfigError", `OUTRIGGER_FIRST_ADMIN: ${toAppError(error).message}`);
  }
  const isMade = await ctx.batch(async (tx) => {
    if (await hasAdmin(tx)) return false;
    const known = await findUserByName(tx, name);
    if (known) await setUser(tx, known.id, { role: "admin", hasGroupRole: false });
    else await addUser(tx, newUser(ctx, { name, kind: "basic", role: "admin" }));
    await addAudit(tx, auditOf(ctx, name, known === undefined ? "users.create" : "users.update"));
    return true;
  });
  if (isMade) ctx.log.info({ name }, "is the first administrator");
  const user = await findUserByName(ctx.db, name);
  if (login.includes("password") && user?.hasPassword === false)
    ctx.log.warn(
      { name, command: `${product.word} users update ${name} --password` },
      "the first administrator has no password; set one with this command",
    );
}

/** The entry has no user: the settings made the change. */
const auditOf = (ctx: Ground, name: string, operation: string): NewAudit => ({
  ...{ at: ctx.now().getTime(), operation, subject: `user ${name}: role admin`, requestId: null },
  ...{
    userId: "",
    userName: "",
    credential: "settings",
    address: "",
    outcome: "allowed",
    reason: null,
  },
});
