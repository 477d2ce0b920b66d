import { ManagedJobRecord } from "../../contract/records/jobs.ts";
import type { ManagedJobStatus } from "../../contract/statuses.ts";
import { redactSecrets } from "../../contract/task.ts";
import { listLiveOf } from "../clusters/list-store.ts";
import { type ListedCluster, resourcesText } from "../clusters/schema.ts";
import type { Ground } from "../ground.ts";
import { openTask } from "./document.ts";
import { hasEnded, type JobTask, type Membership } from "./schema.ts";

type Record = ManagedJobRecord;
type Name = keyof Record;

const names = Object.keys(ManagedJobRecord.shape) as Name[];
const always: readonly string[] = ["job_id", "task_id", "status"] satisfies Name[];
const ofCluster: readonly Name[] = ["cluster_resources", "cluster_resources_full", "accelerators"];

/** What makes records of tasks, with the fields that are asked for; the others are null. */
export function openRecords(ctx: Ground, fields: readonly string[] | null) {
  const isAsked = (name: Name) => fields === null || always.includes(name) || fields.includes(name);
  return async (tasks: readonly JobTask[]): Promise<Record[]> => {
    const now = ctx.now().getTime();
    const ids = ofCluster.some(isAsked) ? tasks.flatMap(({ clusterId }) => clusterId ?? []) : [];
    const clusters = new Map((await listLiveOf(ctx.db, ids)).map((one) => [one.id, one]));
    return Promise.all(
      tasks.map(async (task) => {
        // A task may be long: it is opened only where somebody asks for it by name.
        const yaml = fields?.includes("user_yaml") ? await shownOf(ctx, task) : null;
        const all = { ...factsOf(task, clusters.get(task.clusterId ?? ""), now), user_yaml: yaml };
        const shown = names.map((name) => [name, isAsked(name) ? (all[name] ?? null) : null]);
        return Object.fromEntries(shown) as Record;
      }),
    );
  };
}

async function shownOf(ctx: Ground, task: JobTask): Promise<string> {
  const open = await openTask(ctx, task);
  return typeof open === "string"
    ? `# ${open.replaceAll("\n", "\n# ")}\n`
    : redactSecrets(open.yaml);
}

function factsOf(task: JobTask, cluster: ListedCluster | undefined, now: number): Partial<Record> {
  const { job, infra, runAt, ranMs, status, reason, waitsFor } = task;
  const [cloud = null, region = "-", zone = null] = infra?.split("/") ?? [];
  // Existing clients take what is not there for text.
  const resources = cluster === undefined ? "-" : resourcesText(cluster);
  const accelerators = cluster?.offer.accelerators ?? null;
  return {
    _job_id: job.id,
    job_id: job.id,
    task_id: task.number,
    job_name: job.name,
    task_name: task.name,
    job_duration: (ranMs + (runAt === null ? 0 : Math.max(0, now - runAt))) / 1_000,
    workspace: job.workspace,
    status,
    schedule_state: scheduleOf(task),
    resources: task.resources,
    cluster_resources: resources,
    cluster_resources_full: resources,
    ...{ cloud, region, zone, infra },
    recovery_count: task.recoveries,
    details: waitsFor ?? (hasEnded(task) ? null : reason),
    failure_reason: status.startsWith("FAILED") ? reason : null,
    user_name: job.user.name,
    user_hash: job.user.id,
    submitted_at: job.submittedAt / 1_000,
    start_at: inSeconds(task.startedAt),
    end_at: inSeconds(task.endedAt),
    last_recovered_at: inSeconds(task.recoveredAt),
    entrypoint: job.command,
    metadata: {},
    priority: job.priority,
    ...{ pool: job.pool, pool_hash: task.poolId },
    job_id_on_pool_cluster: task.poolId === null ? null : task.clusterJob,
    current_cluster_name: task.clusterName || null,
    accelerators: accelerators && { [accelerators.name]: accelerators.count },
    execution: job.execution,
    is_job_group: job.execution === "parallel",
    is_primary_in_job_group: job.execution === "parallel" ? task.isPrimary : null,
    ...(job.joined !== null && joinedFacts(job.joined)),
    is_batch: false,
  };
}

const joinedFacts = ({ rootId, number, parentId, parentNumber }: Membership): Partial<Record> => ({
  ...{ root_job_id: rootId, dynamic_task_index: number },
  ...{ parent_job_id: parentId, parent_task_id: parentNumber },
});

const inSeconds = (at: number | null): number | null => (at === null ? null : at / 1_000);

const schedules: Readonly<Partial<globalThis.Record<ManagedJobStatus, string>>> = {
  ...{ PENDING: "WAITING", STARTING: "LAUNCHING", RECOVERING: "LAUNCHING" },
};

/** In the words of existing clients. */
function scheduleOf({ status, waitsFor, attempt, settledAt }: JobTask): string {
  if (settledAt !== null) return "DONE";
  if (status === "PENDING" && attempt > 0 && waitsFor !== null) return "ALIVE_BACKOFF";
  return schedules[status] ?? "ALIVE";
}
