import { setTimeout as sleep } from "node:timers/promises";
import { fail } from "../../common/errors.ts";
import { isAlive } from "../../common/process-tree.ts";
import { findControl } from "../control-process.ts";
import { openProgress } from "../progress.ts";
import type { World } from "../world.ts";

const stopLimitMs = 30_000;
const lookEveryMs = 50;

/** `outrigger api stop`. */
export async function stop(world: World): Promise<undefined> {
  const { terminal, settings } = world;
  const control = findControl(settings);
  if (control === undefined) {
    terminal.note(`No control plane of ${settings.home} runs.`);
    return;
  }
  const progress = openProgress(terminal);
  progress.step(`Stopping the control plane, pid ${control.pid}`);
  process.kill(control.pid, "SIGTERM");
  const deadline = Date.now() + stopLimitMs;
  while (isAlive(control)) {
    if (Date.now() > deadline) {
      progress.end("failed");
      fail("TimeoutError", `pid ${control.pid} did not end within ${stopLimitMs / 1_000} s`);
    }
    await sleep(lookEveryMs, undefined, { signal: world.signal });
  }
  progress.end("done");
}
