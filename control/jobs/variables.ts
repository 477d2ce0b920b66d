import { envOf, protocol } from "../../common/product.ts";
import { findCluster } from "../clusters/store.ts";
import type { Ground } from "../ground.ts";
import { hasEnded, type JobTask } from "./schema.ts";
import { listMembers, listTasks } from "./store.ts";

/** What a task sees besides the variables that it sets itself. */
export async function variablesOf(ctx: Ground, task: JobTask): Promise<Record<string, string>> {
  const { job, recoveries, startedAt } = task;
  return {
    ...envOf("TASK_ID", idOf(task)),
    ...envOf("MANAGED_JOB_ID", String(job.id)),
    ...envOf("JOB_RANK", String(job.rank)),
    ...envOf("NUM_JOBS", String(job.copies)),
    ...envOf("RECOVERY_COUNT", String(startedAt === null ? 0 : recoveries + 1)),
    ...(await groupVariables(ctx, task)),
  };
}

/** The TASK_ID of a task, and those of every task of its job. */
export async function idsOf(
  ctx: Ground,
  task: JobTask,
): Promise<{ readonly taskId: string; readonly taskIds: readonly string[] }> {
  const tasks = await listTasks(ctx.db, [task.job.id]);
  return { taskId: idOf(task), taskIds: tasks.map(idOf) };
}

/** The same in every attempt. */
function idOf({ job, number, name }: JobTask): string {
  const digits = new Date(job.submittedAt).toISOString().replace(/[T:.]/g, "-").replace("Z", "000");
  return `${protocol.requestPrefix}-managed-${digits}_${name}_${job.id}-${number}`;
}

/** What a task of a pipeline, of a job group, or a job that has joined one learns of the others. */
async function groupVariables(ctx: Ground, { job }: JobTask): Promise<Record<string, string>> {
  if (job.execution === null && job.joined === null) return {};
  const rootId = job.joined?.rootId ?? job.id;
  const own = await listTasks(ctx.db, [rootId]);
  if (job.execution === "serial") return envOf("TASK_IDS", own.map(idOf).join("\n"));
  const [root] = own;
  if (root === undefined) return {};
  const joined = await listTasks(ctx.db, await listMembers(ctx.db, [rootId]));
  const tasks = [...own, ...joined.filter((one) => !hasEnded(one))];
  return {
    ...envOf("ROOT_JOB_ID", String(root.job.id)),
    ...envOf("JOBGROUP_NAME", root.job.name),
    ...envOf("JOBGROUP_TASKS", tasks.map(({ name }) => name).join("\n")),
    ...envOf("JOBGROUP_HOSTS", (await hostsOf(ctx, tasks, root.job.name)).join("\n")),
  };
}

/** Where the nodes of a group are, as lines of a file of hosts: `10.0.0.4 trainer-0.group`. */
async function hostsOf(ctx: Ground, tasks: readonly JobTask[], group: string): Promise<string[]> {
  const lines = [];
  for (const { clusterId, name } of tasks) {
    const cluster = await findCluster(ctx.db, clusterId ?? "");
    if (cluster?.status !== "UP") continue;
    for (const [rank, address] of cluster.addresses.entries())
      lines.push(`${address} ${name}-${rank}.${group}`);
  }
  return lines;
}
