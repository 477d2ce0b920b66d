import type { Cluster } from "../../clusters/schema.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import type { Replica } from "../schema.ts";
import type { OpenVersion } from "../versions/task.ts";
import { firstFreePort, inTurn, isUnused } from "./free-port.ts";
import { listAllReplicas, setReplica } from "./store.ts";

/** Where requests come on a node, and where its server listens; the same where no sidecar is between. */
export interface ReplicaPorts {
  readonly listenPort: number;
  readonly serverPort: number;
}

/**
 * The ports of a replica, chosen once: the document's for its server, unless another replica on the
 * same machine has it or somebody listens there.
 */
export function takePorts(
  ctx: Context,
  replica: Replica,
  cluster: Pick<Cluster, "provider" | "offer">,
  version: Pick<OpenVersion, "spec">,
): Promise<ReplicaPorts> {
  return inTurn(ctx, () => choosePorts(ctx, replica, cluster, version));
}

async function choosePorts(
  ctx: Context,
  replica: Replica,
  cluster: Pick<Cluster, "provider" | "offer">,
  { spec }: Pick<OpenVersion, "spec">,
): Promise<ReplicaPorts> {
  const { listenPort, serverPort } = replica;
  if (listenPort !== null && serverPort !== null) return { listenPort, serverPort };
  const isShared = sharesPorts(cluster);
  const mayMeet = isShared || ctx.provider(cluster.provider).sharesMachines === true;
  const taken = new Set(mayMeet ? await portsTaken(ctx, replica) : []);
  // Of another machine nobody here knows who listens; its replica has it for itself.
  const isFree = async (port: number) =>
    !taken.has(port) && (!isShared || (await isUnused(port, "0.0.0.0")));
  const forServer = (await isFree(spec.port))
    ? spec.port
    : await firstFreePort(ctx.config.replicaPorts, isFree);
  taken.add(forServer);
  const forClients =
    spec.auth === undefined ? forServer : await firstFreePort(ctx.config.replicaPorts, isFree);
  const ports = { listenPort: forClients, serverPort: forServer };
  await ctx.batch((tx) => setReplica(tx, replica.id, ports));
  return ports;
}

async function portsTaken(ctx: Ground, { id }: Replica): Promise<number[]> {
  const others = (await listAllReplicas(ctx.db)).filter(
    (one) => one.id !== id && one.endedAt === null,
  );
  return others.flatMap(({ listenPort, serverPort }) => [listenPort ?? 0, serverPort ?? 0]);
}

/** Whether a cluster's nodes have the ports of this machine, which others may listen on. */
export const sharesPorts = ({ provider, offer }: Pick<Cluster, "provider" | "offer">): boolean =>
  provider === "local" && offer.network !== "own";
