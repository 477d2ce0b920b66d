import type { InputOf } from "../../common/operation.ts";
import type { serveOperations as rows } from "../../contract/operations/serve.ts";
import type { Call } from "../bind.ts";
import { listLiveOf } from "../clusters/list-store.ts";
import type { Context } from "../context.ts";
import { asksForSpot } from "../offers.ts";
import { goalOf } from "./decisions/plan.ts";
import { chooseServices } from "./find.ts";
import { listReplicas } from "./replicas/store.ts";
import { listVersions } from "./store.ts";
import { openReadable } from "./versions/task.ts";
import { toServiceRecord } from "./view.ts";

/** Live services and their replicas, the newest service first. */
export async function status(ctx: Context, input: InputOf<typeof rows.status>, call: Call) {
  const services = await chooseServices(ctx, input.service_names, call);
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
          resources.candidates.some(({ useSpot }) => useSpot) && !asksForSpot(ctx, resources),
        command: versions.at(-1)?.command ?? null,
      });
    }),
  );
}
