import type { Task } from "../../contract/task.ts";
import type { Context } from "../context.ts";
import { candidateOf } from "../offers.ts";
import type { Offer } from "../providers/provider.ts";
import type { Cluster } from "./schema.ts";

const workspace = "default";

/** What whoever has a cluster made decides of it. */
type Made = Pick<Cluster, "id" | "name" | "wantedBecause" | "user" | "madeFor" | "taskYaml"> &
  Pick<Cluster, "command" | "ports" | "autostop">;

/** A cluster that nothing was done for yet. */
export function newCluster(ctx: Context, task: Task, offer: Offer, made: Made): Cluster {
  const now = ctx.now().getTime();
  return {
    ...made,
    status: "INIT",
    wanted: "UP",
    workspace,
    provider: offer.provider,
    nodes: task.nodes,
    offer,
    addresses: [],
    skipHooks: false,
    hooksVersion: null,
    labels: { ...candidateOf(task.resources, offer)?.labels },
    problem: null,
    everUp: false,
    launchedAt: now,
    statusChangedAt: now,
  };
}
