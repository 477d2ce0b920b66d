import { type Hook, secondsOf } from "../../contract/hooks.ts";
import type { Task } from "../../contract/task.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { candidateOf } from "../needs.ts";
import type { Machine, Offer } from "../providers/provider.ts";
import { nudge } from "../reconciler.ts";
import { claimsOf } from "../volumes/place.ts";
import { type Policy, policyOf } from "../workspaces/schema.ts";
import { loginOf } from "./files/contained.ts";
import { launchedHooks, noneKept } from "./hooks/kept.ts";
import type { Asked, Cluster } from "./schema.ts";
import { addCluster } from "./store.ts";

/** What whoever has a cluster made decides of it. */
type Made = Pick<Cluster, "id" | "name" | "wantedBecause" | "user" | "workspace" | "madeFor"> &
  Pick<Cluster, "taskYaml" | "command" | "autostop">;

/** A cluster that nothing was done for yet. */
export function newCluster(ctx: Ground, asked: Asked, offer: Offer, made: Made): Cluster {
  const now = ctx.now().getTime();
  return {
    ...made,
    ...placed(asked, offer),
    status: "INIT",
    wanted: "UP",
    provider: offer.provider,
    nodes: asked.nodes,
    offer,
    addresses: [],
    skipHooks: false,
    hooksVersion: null,
    problem: null,
    placement: { asked: askedAlone(asked), isRefused: false, tried: [], since: 0 },
    everUp: false,
    launchedAt: now,
    statusChangedAt: now,
  };
}

/**
 * Writes a new cluster with the hooks of its task, which the reconciler begins to make at once. False, and
 * nothing is written, when its name is taken; throws what `admit` does, within the transaction.
 */
export async function addNewCluster(
  ctx: Context,
  cluster: Cluster,
  task: Task,
  admit: (tx: Connection) => Promise<void>,
): Promise<boolean> {
  const hooks = launchedHooks(ctx, task, { ...cluster, before: noneKept });
  const { document } = await ctx.configurations.current();
  const claims = await claimsOf(ctx, task);
  const machine = {
    ...{ ...cluster.machine, ...asTaskSays(ctx, task) },
    ...podsOf(task, policyOf(document, cluster.workspace)),
    ...(claims.length > 0 && { claims }),
  };
  const isAdded = await ctx.batch(async (tx) => {
    const isFirst = await addCluster(tx, { ...cluster, machine }, hooks);
    if (isFirst) await admit(tx);
    return isFirst;
  });
  if (isAdded) void nudge(ctx, "cluster", cluster.id);
  return isAdded;
}

/** What a task says of its pods, over what its workspace does. */
function podsOf({ config }: Task, { pods }: Policy): Pick<Machine, "kubernetes"> {
  const kubernetes = { ...pods, ...config.kubernetes };
  return Object.keys(kubernetes).length > 0 ? { kubernetes } : {};
}

/** What hooks ask of the machines that they are on. */
export function graceOf(hooks: readonly Hook[]): Pick<Machine, "graceSeconds"> {
  const graceSeconds = secondsOf(hooks, "preemption");
  return graceSeconds > 0 ? { graceSeconds } : {};
}

/** What a task says of its machines wherever they are. */
function asTaskSays({ seal }: Ground, task: Task): Partial<Machine> {
  const { config, hooks = [] } = task;
  const slurm = config["slurm"];
  const login = loginOf(task);
  return {
    ...(slurm !== undefined && { slurm }),
    ...graceOf(hooks),
    ...(login && { sealedLogin: seal.seal(JSON.stringify(login)).toString("base64") }),
  };
}

/** What of a task depends on the machines that it is given. */
export function placed(
  { resources, reached }: Pick<Asked, "resources" | "reached">,
  offer: Offer,
): Pick<Cluster, "ports" | "labels" | "machine"> {
  const {
    ports = [],
    labels = {},
    image,
    diskGb,
    ephemeralStorageGb,
    priorityClass,
  } = candidateOf(resources, offer) ?? {};
  const machine = {
    ...(image && { image }),
    ...(diskGb !== undefined && { diskGb }),
    ...(ephemeralStorageGb !== undefined && { ephemeralStorageGb }),
    ...(priorityClass !== undefined && { priorityClass }),
    ...((reached || ports.length > 0) && { reached: true as const }),
  };
  return { ports: [...ports], labels: { ...labels }, machine };
}

/** What is kept: a task that asks has more, which may be secret. */
function askedAlone(asked: Asked): Asked {
  const { resources, nodes, network, isSpot, mounts, cpuPartition, near, reached } = asked;
  const { choose, candidates } = resources;
  return {
    ...{ resources: { choose, candidates }, nodes },
    ...(network && { network }),
    ...(isSpot && { isSpot }),
    ...(mounts && { mounts }),
    ...(cpuPartition && { cpuPartition }),
    ...(near && { near }),
    ...(reached && { reached }),
  };
}
