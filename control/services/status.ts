import type { InputOf } from "../../common/operation.ts";
import type { poolOperations as poolRows } from "../../contract/operations/pools.ts";
import type { serveOperations as rows } from "../../contract/operations/serve.ts";
import type { ServiceStatusRecord } from "../../contract/records/services.ts";
import type { Call } from "../bind.ts";
import { listLiveOf } from "../clusters/list-store.ts";
import type { Context } from "../context.ts";
import { listHeld } from "../jobs/work-store.ts";
import { asksForSpot } from "../needs.ts";
import { goalOf } from "./decisions/plan.ts";
import { chooseServices } from "./find.ts";
import { listReplicas } from "./replicas/store.ts";
import { listVersions } from "./store.ts";
import { openReadable } from "./versions/task.ts";
import { toServiceRecord } from "./view.ts";

/** Live services and their replicas, the newest service first. */
export const status = (ctx: Context, input: InputOf<typeof rows.status>, call: Call) =>
  listRecords(ctx, { names: input.service_names, isPool: false }, call);

/** Live pools and their workers, likewise. */
export const poolStatus = (ctx: Context, input: InputOf<typeof poolRows.status>, call: Call) =>
  listRecords(ctx, { names: input.pool_names, isPool: true }, call);

async function listRecords(
  ctx: Context,
  chosen: Parameters<typeof chooseServices>[1],
  call: Call,
): Promise<ServiceStatusRecord[]> {
  const services = await chooseServices(ctx, chosen, call);
  return Promise.all(
    services.map(async (service) => {
      const { id: serviceId, version } = service;
      const replicas = await listReplicas(ctx.db, serviceId);
      const clusterIds = replicas.flatMap(({ clusterId }) => clusterId ?? []);
      const clusters = await listLiveOf(ctx.db, clusterIds);
      const versions = await listVersions(ctx.db, serviceId);
      const goal = await openReadable(ctx, { serviceId, version: goalOf(versions).version });
      const { resources } = goal.task;
      return toServiceRecord({
        service,
        versions,
        clusters: new Map(clusters.map((cluster) => [cluster.id, cluster])),
        replicas,
        seen: ctx.balancers.seen(serviceId),
        newest: await openReadable(ctx, { serviceId, version }),
        goal,
        isWithoutSpot:
          resources.candidates.some(({ useSpot }) => useSpot) &&
          !(await asksForSpot(ctx, resources)),
        command: versions.at(-1)?.command ?? null,
        held: service.isPool ? await listHeld(ctx.db, serviceId) : [],
      });
    }),
  );
}
