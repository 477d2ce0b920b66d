import { join } from "node:path";
import type { Context } from "../context.ts";
import type { Replica } from "./schema.ts";

type World = Pick<Context, "config">;

/** Where a service has its balancer's socket, and its logs. */
export const serviceFolder = ({ config }: World, serviceId: string): string =>
  join(config.home, "services", serviceId);

/** What the balancer of a service logs. */
export const balancerLogOf = (ctx: World, serviceId: string): string =>
  join(serviceFolder(ctx, serviceId), "balancer.log");

type Key = Pick<Replica, "serviceId" | "number">;

/** What is told of a replica while it is brought up. */
export const replicaLogOf = (ctx: World, { serviceId, number }: Key): string =>
  join(serviceFolder(ctx, serviceId), `replica-${number}.log`);

/** What the job of a replica printed, once its cluster is gone. */
export const keptLogOf = (ctx: World, { serviceId, number }: Key): string =>
  join(serviceFolder(ctx, serviceId), `replica-${number}-job.log`);
