import { join } from "node:path";
import type { Ground } from "../ground.ts";

type World = Pick<Ground, "config">;

/** Where everything lies that is kept of a task. */
export const taskFolder = ({ config }: World, taskId: string): string =>
  join(config.home, "control", "jobs", taskId);

/** What was decided about a task, and what was told while its clusters were brought up. */
export const controllerLogOf = (ctx: World, taskId: string): string =>
  join(taskFolder(ctx, taskId), "controller.log");

/** The copy of what an attempt printed. */
export const attemptLogOf = (ctx: World, taskId: string, attempt: number): string =>
  join(taskFolder(ctx, taskId), `attempt-${attempt}.log`);
