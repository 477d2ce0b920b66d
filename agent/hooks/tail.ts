import { readBytes } from "../../common/growing-file.ts";
import type { Agent } from "../context.ts";
import type { LifecycleRow, Run } from "../lifecycles/row.ts";
import { findLifecycleSpec } from "../lifecycles/store.ts";
import { openMasker } from "../mask.ts";
import { hookLogOf, sizeOfHookLog } from "./logs.ts";

const linesAtMost = 20;
const bytesAtMost = 8 * 1024;

/** The last lines that a hook printed, secrets masked; undefined when it printed nothing. */
export function findTail(agent: Agent, row: LifecycleRow, run: Run): string | undefined {
  const masker = openMasker(Object.values(findLifecycleSpec(agent, row.id)?.secrets ?? {}));
  const size = sizeOfHookLog(agent, row, run.event);
  const from = Math.max(run.logFrom, size - bytesAtMost);
  // What stands before may complete a secret.
  const start = Math.max(run.logFrom, from - masker.reach);
  const bytes = readBytes(hookLogOf(agent, row.id, run.event), start, Math.max(0, size - start));
  masker.mask(bytes, { start: start > run.logFrom });
  const lines = bytes
    .toString("utf8", from - start)
    .replace(/\n$/, "")
    .split("\n");
  const isCut = from > run.logFrom && lines.length > 1;
  const tail = (isCut ? lines.slice(1) : lines).slice(-linesAtMost).join("\n");
  return tail === "" ? undefined : tail;
}
