import type { Context } from "../context.ts";
import { goalOf } from "./decisions/plan.ts";
import { listReplicas } from "./replicas/store.ts";
import type { Replica, Service, Version } from "./schema.ts";
import { listVersions } from "./store.ts";
import { type OpenVersion, openVersion } from "./versions/task.ts";

/** All that there is to know of a service. */
export interface State {
  readonly service: Service;
  readonly goal: Version;
  readonly versions: readonly Version[];
  readonly replicas: readonly Replica[];
  /** What the versions run of which there are replicas, and the one to have. */
  readonly opened: ReadonlyMap<number, OpenVersion>;
  readonly spec: OpenVersion;
}

/** Reads it; nothing of it is older than the call. Throws for versions that `read` does not open. */
export async function stateOf(
  ctx: Context,
  service: Service,
  read: typeof openVersion = openVersion,
): Promise<State> {
  const versions = await listVersions(ctx.db, service.id);
  const replicas = await listReplicas(ctx.db, service.id);
  const goal = goalOf(versions);
  const open = (version: number) => read(ctx, { serviceId: service.id, version });
  const used = new Set([goal.version, ...replicas.map(({ version }) => version)]);
  const opened = new Map(
    await Promise.all([...used].map(async (one) => [one, await open(one)] as const)),
  );
  return { service, goal, versions, replicas, opened, spec: await open(goal.version) };
}
