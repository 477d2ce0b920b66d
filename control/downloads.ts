import { join } from "node:path";
import { protocol } from "../common/product.ts";
import type { Ground } from "./ground.ts";

/** The folder that has one of its own for each user. */
export const clientsOf = (ctx: Ground): string => join(ctx.config.home, "control", "clients");

/** The folder under which a user's downloads lie, and the name clients know it by. */
export const downloadsOf = (ctx: Ground, userId: string) => ({
  folder: join(clientsOf(ctx), encodeURIComponent(userId), "logs"),
  shown: `~/.${protocol.requestPrefix}/api_server/clients/${userId}/${protocol.requestPrefix}_logs`,
});
