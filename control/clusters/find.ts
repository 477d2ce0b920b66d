import { fail } from "../../common/errors.ts";
import type { Context } from "../context.ts";
import type { Cluster } from "./schema.ts";
import { findLive } from "./store.ts";

/** The live cluster of this name; throws `ClusterDoesNotExist`. */
export async function getLive(ctx: Context, name: string): Promise<Cluster> {
  const cluster = await findLive(ctx.db, name);
  return cluster ?? fail("ClusterDoesNotExist", `there is no cluster ${name}; status lists them`);
}

/** The live cluster of this name, which must be up; throws `ClusterNotUpError` as well. */
export async function getUp(ctx: Context, name: string): Promise<Cluster> {
  const cluster = await getLive(ctx, name);
  if (cluster.status === "UP") return cluster;
  const { status, wanted } = cluster;
  const hint = status === "STOPPED" && wanted === "STOPPED" ? "; start it first" : "";
  return fail("ClusterNotUpError", `cluster ${name} is ${status}, not UP${hint}`, { status });
}
