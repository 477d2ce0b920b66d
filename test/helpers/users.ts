import { digestOf } from "../../control/access/digest.ts";
import type { Context } from "../../control/context.ts";
import { tokenPrefix } from "../../control/tokens/schema.ts";
import type { Account } from "../../control/users/schema.ts";
import { addUser } from "../../control/users/store.ts";

/** A user whose id is its name, unless something else is given. */
export const anAccount = (given: Partial<Account> = {}): Account => ({
  id: given.name ?? "ann",
  name: "ann",
  kind: "basic",
  role: "user",
  hasGroupRole: false,
  hasPassword: false,
  groups: [],
  preferredWorkspace: null,
  createdAt: 0,
  ...given,
});

/** Makes a user who has a token; returns the header that carries it. */
export async function addCaller(
  ctx: Context,
  given: Partial<Account> & { readonly name: string },
): Promise<{ authorization: string }> {
  const user = anAccount(given);
  const secret = `${tokenPrefix}of-${user.id}`;
  await ctx.batch(async (tx) => {
    await addUser(tx, user);
    await tx.insertInto("tokens").values(tokenOf(user, secret)).execute();
  });
  return { authorization: `Bearer ${secret}` };
}

const tokenOf = ({ id, name }: Account, secret: string) => ({
  ...{ id: `token-${id}`, name: `token of ${name}`, digest: digestOf(secret) },
  ...{ user_id: id, creator_id: id, creator_name: name },
  ...{ created_at: 0, expires_at: null, last_used_at: null },
});
