import { appendTo } from "../../common/files.ts";
import type { Ground } from "../ground.ts";
import { controllerLogOf } from "./folders.ts";
import { taskKey } from "./schema.ts";

/** Adds a line to what is told about a task, and wakes those who wait for it. */
export const narrate = (ctx: Ground, taskId: string, line: string): void =>
  print(ctx, taskId, `${ctx.now().toISOString()} ${line}\n`);

/** The same with a text that comes as it is. */
export function print(ctx: Ground, taskId: string, text: string): void {
  const file = controllerLogOf(ctx, taskId);
  appendTo(file, text);
  ctx.changes.notify(taskKey(taskId));
}
