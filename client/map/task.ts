import { parseAllDocuments } from "yaml";
import { fail } from "../../common/errors.ts";
import { setResource } from "../task-text.ts";
import type { Range } from "./ranges.ts";
import { inputsOnWorker, scriptOf } from "./script.ts";

/** A task that runs its `run` for each input of the chunk that is its job's. */
export interface MapTask {
  readonly task: string;
  readonly inputsFile: string;
  readonly tag: string;
}

/** The text of such a task. Throws `UsageError` for one that cannot be mapped over inputs. */
export function mapTaskText(
  { task, inputsFile, tag }: MapTask,
  chunks: readonly (readonly Range[])[],
): string {
  const [document, ...others] = parseAllDocuments(task);
  if (document === undefined || others.length > 0)
    fail("UsageError", "inputs can be mapped over one task only");
  const run = document.get("run");
  if (typeof run !== "string" || run.trim() === "")
    fail("UsageError", "the task has no `run`; it runs once for each input");
  if (Number(document.get("num_nodes") ?? 1) !== 1)
    fail("UsageError", "each input runs on one node; remove num_nodes");
  for (const key of ["resources", "file_mounts"])
    if (document.get(key) === null) document.delete(key);
  document.set("run", scriptOf(run, tag, chunks));
  document.setIn(["file_mounts", inputsOnWorker], inputsFile);
  // Another attempt would do again what is recorded: instead, a new job does what is not.
  setResource(document, ["job_recovery", "spot_recovery"], { strategy: "none" });
  return String(document);
}
