import type { InputOf } from "../../common/operation.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { type Identity, seesWorkspace } from "../access/identity.ts";
import type { Queries } from "../db/open.ts";
import { hasEnded, type JobTask, type Membership } from "./schema.ts";
import { listTasks } from "./store.ts";
import { nextMember } from "./submit-store.ts";

type Input = Pick<InputOf<typeof rows.launch>, "parent_job_id" | "parent_task_id">;
type Caller = Pick<Identity, "workspaces"> & { readonly workspace: string };

/**
 * How a launch joins the job group that it names, or the group of the job that it names; null where it names
 * none. A text says why it cannot join.
 */
export async function membershipOf(
  db: Queries,
  { parent_job_id: parentId, parent_task_id: parentNumber }: Input,
  caller: Caller,
): Promise<Membership | string | null> {
  if (parentId === null) return null;
  const [parent] = await listTasks(db, [parentId]);
  if (parent === undefined || !seesWorkspace(caller, parent.job.workspace))
    return `there is no managed job ${parentId}`;
  const rootId = parent.job.joined?.rootId ?? parentId;
  const group = await listTasks(db, [rootId]);
  const refusal = whyClosed(rootId, group, caller);
  if (refusal !== undefined) return refusal;
  return { rootId, number: await nextMember(db, rootId, group.length), parentId, parentNumber };
}

/** Why nothing can join these tasks any more; undefined where it can. */
function whyClosed(
  rootId: number,
  group: readonly JobTask[],
  { workspace }: Caller,
): string | undefined {
  const [root] = group;
  if (root?.job.execution !== "parallel") return `managed job ${rootId} is not a job group`;
  if (root.job.workspace !== workspace)
    return `job group ${rootId} is in workspace ${root.job.workspace}, and this launch in ${workspace}`;
  if (group.every(hasEnded)) return `job group ${rootId} has ended`;
  if (group.every((task) => hasEnded(task) || task.wanted === "CANCELLED"))
    return `job group ${rootId} is being cancelled`;
}
