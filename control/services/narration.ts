import { join } from "node:path";
import { appendTo } from "../../common/files.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { serviceFolder } from "./folders.ts";
import { serviceKey } from "./schema.ts";

/** The file that tells what was decided about a service and why; it outlives the service. */
export const controllerLogOf = (ctx: Pick<Context, "config">, serviceId: string): string =>
  join(serviceFolder(ctx, serviceId), "controller.log");

/** Adds a line to it, and wakes those who wait for the service. */
export function narrate(ctx: Ground, serviceId: string, line: string): void {
  const file = controllerLogOf(ctx, serviceId);
  appendTo(file, `${ctx.now().toISOString()} ${line}\n`);
  ctx.changes.notify(serviceKey(serviceId));
}
