import type { HookRun } from "../../contract/lifecycle-shapes.ts";

/** The first hook while it runs, but for what is given. */
export const aRun = (more: Partial<HookRun> = {}): HookRun => ({
  index: 0,
  event: "stop",
  status: "RUNNING",
  exitCode: null,
  reason: null,
  startedAt: 1,
  endedAt: null,
  timeoutSeconds: 60,
  ...more,
});
