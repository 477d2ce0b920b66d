import { randomBytes } from "node:crypto";
import type { Resources } from "../../contract/task/resources.ts";
import { addManaged } from "../clusters/managed.ts";
import type { Cluster } from "../clusters/schema.ts";
import type { Context } from "../context.ts";
import { spotOf } from "../needs.ts";
import type { OpenTask } from "./document.ts";
import { usualRecovery } from "./recovery.ts";
import { calledBy, type JobTask } from "./schema.ts";

/** The clusters of attempts, and what they are called. */

const nameAtMost = 80;

export const newClusterId = (): string => randomBytes(6).toString("hex");

/** As short as the cluster of a task can be called. */
export const clusterNameOf = ({ name, job }: Pick<JobTask, "name" | "job">): string =>
  `${plain(name)}-${job.id}`;

/** The same, but free in any case: while another cluster has the short name. */
export const freeNameOf = (task: Pick<JobTask, "name" | "job">, clusterId: string): string =>
  `${clusterNameOf(task)}-${clusterId}`;

/** As much of a name as may begin that of a cluster. */
const plain = (name: string): string =>
  name
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[^a-zA-Z]+/, "")
    .slice(0, nameAtMost) || "job";

/** The cluster of an attempt that is yet to begin. */
type Attempt = Pick<JobTask, "attempt" | "clusterName"> & { readonly clusterId: string };

/** Writes a cluster for an attempt, as `addManaged` does. */
export async function addClusterFor(
  ctx: Context,
  task: JobTask,
  { attempt, clusterId, clusterName }: Attempt,
  open: OpenTask,
  signal: AbortSignal,
): Promise<Cluster> {
  const { job, infra } = task;
  const { resources } = open.task;
  const made = { what: calledBy(task), noun: "managed_job", id: task.id } as const;
  const managed = {
    ...{ id: clusterId, name: clusterName },
    madeFor: { ...made, isReplacedWhole: true as const },
    ...{ user: job.user, workspace: job.workspace, because: `attempt ${attempt} begins` },
    ...{ task: open.task, taskYaml: open.yaml },
    ...(await spotOf(ctx, resources)),
    ...nearOf(infra, resources),
  };
  return addManaged(ctx, managed, signal);
}

/** Where a task that ran before is tried again first, by the strategy of its recovery. */
function nearOf(infra: string | null, { jobRecovery: { strategy } = usualRecovery }: Resources) {
  if (infra === null) return {};
  const region = infra.split("/").slice(0, 2).join("/");
  return { near: { infra: region, tried: strategy === "FAILOVER" ? "first" : "last" } as const };
}
