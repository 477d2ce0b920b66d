import { fail } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import type { Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { candidateOf } from "../offers.ts";
import { headOf } from "./head.ts";
import type { Cluster } from "./schema.ts";

/** What a job takes of a node's CPUs when it asks for none in particular. */
const usualCpus = 0.5;

/** Hands a task to the head of a cluster; undefined when the task has nothing to run. */
export async function submitJob(
  ctx: Context,
  cluster: Cluster,
  task: Task,
  { withSetup }: { withSetup: boolean },
  call: Call,
): Promise<Job | undefined> {
  const submission = submissionOf(cluster, task, withSetup, call);
  if (submission.setup === null && submission.run === null) return undefined;
  if (task.nodes > cluster.nodes)
    fail(
      "ResourcesMismatchError",
      `the task asks for ${task.nodes} nodes, cluster ${cluster.name} has ${cluster.nodes}`,
    );
  const options = { signal: call.signal };
  const job = await headOf(ctx, cluster).call(agentOperations.submit, submission, options);
  call.print(`Job submitted, ID: ${job.id}\n`);
  return job;
}

/** The job as the head is told of it; by the call's id it knows a second attempt. */
const submissionOf = (cluster: Cluster, task: Task, withSetup: boolean, call: Call) => ({
  submissionId: call.id,
  name: task.name ?? "-",
  userId: call.user.id,
  userName: call.user.name,
  setup: withSetup ? (task.setup ?? null) : null,
  run: task.run ?? null,
  env: { ...task.envs },
  secrets: revealed(task),
  nodes: task.nodes,
  ...demandOf(cluster, task),
});

const revealed = ({ secrets }: Task): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()]));

/** What the job takes of each node, and the words for it. */
function demandOf({ offer }: Cluster, { resources, nodes }: Task) {
  const kind = candidateOf(resources, offer)?.accelerator;
  const accelerators = kind !== undefined && "name" in kind ? kind.count : 0;
  const named = kind !== undefined && "name" in kind ? `${kind.name}:${kind.count}` : undefined;
  return {
    demand: { cpus: usualCpus, accelerators },
    resources: `${nodes}x[${named ?? `CPU:${usualCpus}`}]`,
  };
}
