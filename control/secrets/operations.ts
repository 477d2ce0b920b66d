import { fail } from "../../common/errors.ts";
import { secretOperations as rows, type SecretRecord } from "../../contract/operations/secrets.ts";
import { listedBy } from "../../contract/spelling.ts";
import { type Bound, bind } from "../bind.ts";
import { seconds } from "../wire/fields.ts";
import { visibleWorkspaces } from "../workspaces/find.ts";
import type { StoredSecret } from "./schema.ts";
import { type Owner, ownerOf, type Scope } from "./schema.ts";
import { deleteSecret, listSecrets, putSecret } from "./store.ts";

/** Secrets that tasks name: of a user, and of a workspace. */
export const secretOperations: Bound[] = [
  bind(rows.list, async (ctx, _input, call) => {
    const workspaces = Object.keys(await visibleWorkspaces(ctx, call));
    const owners: Owner<Scope>[] = [
      { scope: "user", owner: call.user.id },
      ...workspaces.map((owner) => ({ scope: "workspace" as const, owner })),
    ];
    const lists = await Promise.all(owners.map((owner) => listSecrets(ctx.db, owner)));
    return lists.flat().map(toRecord);
  }),
  bind(rows.set, async (ctx, { name, scope, value }, { user, workspace }) => {
    const owner = ownerOf(scope, user.id, workspace);
    const secret = { ...owner, name, userName: user.name, updatedAt: ctx.now().getTime() };
    await ctx.batch((tx) => putSecret(tx, ctx.seal, secret, value));
    return null;
  }),
  bind(rows.delete, async (ctx, { name, scope }, { user, workspace }) => {
    const owner = ownerOf(scope, user.id, workspace);
    const isDeleted = await ctx.batch((tx) => deleteSecret(tx, owner, name));
    if (!isDeleted)
      fail("NotFoundError", `there is no secret ${name}; ${listedBy("secrets list")}`);
    return null;
  }),
];

const toRecord = ({
  scope,
  owner,
  name,
  userName,
  updatedAt,
}: StoredSecret<Scope>): SecretRecord => ({
  ...{ name, scope },
  workspace: scope === "workspace" ? owner : null,
  updated_at: seconds(updatedAt),
  updated_by: userName,
});
