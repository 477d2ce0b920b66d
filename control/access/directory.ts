import type { Ground } from "../ground.ts";
import { findKnown } from "../users/store.ts";
import { workspacesOf } from "../workspaces/membership.ts";
import { type Identity, localUserId, type Proof } from "./identity.ts";

/** The administrator that this machine's own user is where nobody logs in. */
export const localIdentity = ({ config }: Ground, credential = "local"): Identity => ({
  user: { id: localUserId, name: config.localUserName },
  role: "admin",
  workspaces: null,
  credential,
});

/** Who a proof stands for now; undefined where the user is gone. */
export async function findIdentity(
  ctx: Ground,
  { userId, credential, known }: Proof,
): Promise<Identity | undefined> {
  if (userId === localUserId) return localIdentity(ctx, credential);
  const found = known ?? (await findKnown(ctx.db, userId));
  if (found === undefined) return undefined;
  const { user, configuration } = found;
  const { workspaces } = await ctx.configurations.at(configuration);
  return {
    user: { id: user.id, name: user.name },
    role: user.role,
    workspaces: user.role === "admin" ? null : workspacesOf(user, workspaces),
    credential,
  };
}
