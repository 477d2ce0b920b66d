import type { Ground } from "../ground.ts";
import { dropExpired } from "./store.ts";

/** Forgets sessions that have expired, and approvals that nobody came for. */
export const collectSessions = (ctx: Ground): Promise<void> =>
  ctx.batch((tx) => dropExpired(tx, ctx.now().getTime()));
