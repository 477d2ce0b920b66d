import { fail } from "../../common/errors.ts";
import { covers, isRole, type Ownership } from "../../contract/roles.ts";
import { listedBy } from "../../contract/spelling.ts";
import { noSuchCluster } from "../clusters/find.ts";
import { findLiveWorkspace } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import { findRecipeOwner } from "../recipes/store.ts";
import { findServiceWorkspace } from "../services/store.ts";
import { findStorageWorkspace } from "../storage/store.ts";
import { findToken } from "../tokens/store.ts";
import { findVolumeWorkspace } from "../volumes/store.ts";
import { type Identity, isOwnedBy, seesWorkspace } from "./identity.ts";

/** Throws where an identity must not do to a thing of this name what its role allows. */
type Rule = (ctx: Context, name: string, identity: Identity) => Promise<void>;

/**
 * What a thing's owner or workspace adds to the role that an operation needs. Things of other
 * workspaces are hidden: the answer is the same as where there is no such thing.
 */
export const subjects = {
  /** A live cluster. */
  async cluster(ctx, name, identity) {
    const workspace = await findLiveWorkspace(ctx.db, name);
    if (workspace !== undefined && seesWorkspace(identity, workspace)) return;
    await noSuchCluster(ctx, name, identity);
  },
  /** A cluster that is live or yet to be made. */
  newCluster: freeName("cluster", findLiveWorkspace),
  service: seen("service", "serve status"),
  newService: freeName("service", findServiceWorkspace),
  pool: seen("pool", "jobs pool status"),
  newPool: freeName("pool", findServiceWorkspace),
  /** A bucket that tasks named. */
  async storage({ db }, name, identity) {
    const workspace = await findStorageWorkspace(db, name);
    if (workspace !== undefined && seesWorkspace(identity, workspace)) return;
    fail("NotFoundError", `there is no storage ${name}; ${listedBy("storage ls")}`);
  },
  newVolume: freeName("volume", findVolumeWorkspace),
  /** A token, which everyone sees, and its creator and administrators change. */
  async token({ db }, id, identity) {
    const token = await findToken(db, id);
    if (token === undefined)
      fail("NotFoundError", `there is no token ${id}; ${listedBy("tokens list")}`);
    if (isOwnedBy(identity, token.creatorId)) return;
    fail(
      "PermissionDeniedError",
      `token ${token.name} belongs to ${token.creatorName}: only they and administrators may do this`,
    );
  },
  /** A recipe, which everyone sees, and its creator and administrators change. */
  async recipe({ db }, name, identity) {
    const owner = await findRecipeOwner(db, name);
    if (owner === undefined || isOwnedBy(identity, owner.id)) return;
    fail(
      "PermissionDeniedError",
      `recipe ${name} belongs to ${owner.name ?? owner.id}: only they and administrators may change it`,
    );
  },
  /** A user, whom others than administrators change only if it is themselves. */
  async user(_ctx, id, identity) {
    if (isOwnedBy(identity, id)) return;
    fail("PermissionDeniedError", "only administrators may change other users");
  },
  /** A role that a user is to have. */
  async changedRole(_ctx, role, identity) {
    if (identity.role === "admin" || role === identity.role) return;
    fail("PermissionDeniedError", "only administrators may change the role of a user");
  },
  /** A role that a service account is to have. */
  async givenRole(_ctx, role, { role: own, user }) {
    if (!isRole(role) || covers(own, role)) return;
    fail(
      "PermissionDeniedError",
      `${user.name} has the role ${own}, and can give no higher one to a service account`,
    );
  },
} as const satisfies Record<Ownership, Rule>;

/** That a service or a pool is in a workspace that the caller sees. */
function seen(noun: string, lister: string): Rule {
  return async ({ db }, name, identity) => {
    const workspace = await findServiceWorkspace(db, name);
    if (workspace !== undefined && seesWorkspace(identity, workspace)) return;
    fail("NotFoundError", `there is no ${noun} ${name}; ${listedBy(lister)}`);
  };
}

/** That a name is not taken by a thing that the caller cannot see. */
function freeName(noun: string, findWorkspace: typeof findLiveWorkspace): Rule {
  return async ({ db }, name, identity) => {
    const workspace = await findWorkspace(db, name);
    if (workspace === undefined || seesWorkspace(identity, workspace)) return;
    fail(
      "ConflictError",
      `the name ${name} is taken by a ${noun} in a workspace that is not yours`,
    );
  };
}

/** Whether rows may say that they are about things of this noun. */
export const isSubjectNoun = (noun: string): noun is keyof typeof subjects =>
  Object.hasOwn(subjects, noun);
