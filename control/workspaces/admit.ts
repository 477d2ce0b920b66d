import { fail } from "../../common/errors.ts";
import type { LimitName } from "../../contract/records/workspaces.ts";
import type { Identity } from "../access/identity.ts";
import type { AutostopSetting, Cluster } from "../clusters/schema.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { findKnown } from "../users/store.ts";
import { isOpenTo } from "./membership.ts";
import {
  type Policy,
  policyOf,
  requireIdleLimit,
  requireInfra,
  requireRoom,
  type Use,
} from "./schema.ts";
import { readUse, useOf } from "./use-store.ts";

/** Whether a workspace takes more, decided in the transaction that takes it: two at once do not both pass. */

type Claimed = Pick<Cluster, "id" | "workspace" | "nodes" | "offer" | "autostop" | "madeFor">;

/**
 * Lets a cluster that is off, or not there yet, be created or started. Throws
 * `UserRequestRejectedByPolicy` where that breaks a rule of its workspace, and `PermissionDeniedError`
 * where the workspace is gone.
 */
export async function admitCluster(ctx: Ground, tx: Connection, cluster: Claimed): Promise<void> {
  const policy = await holdPolicy(ctx, tx, cluster.workspace);
  requireInfra(policy, cluster.offer.infra);
  if (cluster.madeFor === null) requireIdleLimit(policy, cluster.autostop);
  await requireRoomFor(ctx, tx, policy, useOf(cluster), [cluster.id]);
}

/** As `admitCluster`, for a caller who must be a member of the workspace still. */
export async function admitLaunch(
  ctx: Ground,
  tx: Connection,
  cluster: Claimed,
  caller: Caller,
): Promise<void> {
  await admitCluster(ctx, tx, cluster);
  await requireMembership(ctx, tx, cluster.workspace, caller);
}

type Caller = Pick<Identity, "user" | "workspaces">;

/** Throws `PermissionDeniedError` where a caller may no longer use a workspace. */
async function requireMembership(ctx: Ground, tx: Connection, workspace: string, caller: Caller) {
  if (caller.workspaces === null) return;
  const known = await findKnown(tx, caller.user.id);
  const { workspaces } = await ctx.configurations.current(tx);
  if (known?.user.role === "admin") return;
  if (known !== undefined && isOpenTo(known.user, workspaces[workspace] ?? {})) return;
  fail("PermissionDeniedError", `workspace ${workspace} is no longer open to ${caller.user.name}`);
}

/** Lets a job be submitted, which waits until there is room for it. Throws where its workspace is not the caller's. */
export async function admitJob(ctx: Ground, tx: Connection, workspace: string, caller: Caller) {
  await holdPolicy(ctx, tx, workspace);
  await requireMembership(ctx, tx, workspace, caller);
}

interface Service {
  readonly workspace: string;
  /** What its replicas use at least. */
  readonly asked: Use;
  /** The clusters that it has already. */
  readonly clusterIds: readonly string[];
}

/** Lets a service be brought up or updated if its fewest replicas fit; throws as `admitCluster` does. */
export async function admitService(
  ctx: Ground,
  tx: Connection,
  { workspace, asked, clusterIds }: Service,
  caller: Caller,
): Promise<void> {
  const policy = await holdPolicy(ctx, tx, workspace);
  await requireMembership(ctx, tx, workspace, caller);
  await requireRoomFor(ctx, tx, policy, asked, clusterIds);
}

/** Throws where the idle timer of a user's cluster would exceed what its workspace allows. */
export async function admitAutostop(
  ctx: Ground,
  tx: Connection,
  { workspace, madeFor }: Pick<Cluster, "workspace" | "madeFor">,
  autostop: AutostopSetting | null,
): Promise<void> {
  if (madeFor !== null) return;
  const { document } = await ctx.configurations.current(tx);
  requireIdleLimit(policyOf(document, workspace), autostop);
}

async function holdPolicy(ctx: Ground, tx: Connection, workspace: string): Promise<Policy> {
  const { document, workspaces } = await ctx.configurations.hold(tx);
  if (Object.hasOwn(workspaces, workspace)) return policyOf(document, workspace);
  return fail("PermissionDeniedError", `workspace ${workspace} no longer exists`);
}

async function requireRoomFor(
  ctx: Ground,
  tx: Connection,
  policy: Policy,
  asked: Use,
  except: readonly string[],
): Promise<void> {
  const limits = Object.keys(policy.limits) as LimitName[];
  const use = await readUse(tx, { workspace: policy.workspace, limits, except }, ctx.now());
  requireRoom(policy, use, asked);
}
