import { agentOperations as api } from "../../../contract/agent-api.ts";
import type { Cluster } from "../../clusters/schema.ts";
import type { Context } from "../../context.ts";
import type { Replica } from "../schema.ts";
import { openVersion } from "../versions/task.ts";
import { findReplica, setReplica } from "./store.ts";

/** A server that insists on a port of its own listens where nobody asks it. */

const askedMs = 5_000;
const shownPorts = 3;
const beginning = "it listens on ";
const before = `; ${beginning}`;

/** Says of a replica whose probe is not answered that its server listens elsewhere, while it does. */
export async function noteStray(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  signal: AbortSignal,
): Promise<void> {
  if (replica.status !== "STARTING" || !isRefused(ctx, replica)) return;
  const reason = withStray(replica.reason, await strayPorts(ctx, cluster, replica, signal));
  if (reason === replica.reason) return;
  await ctx.batch(async (tx) => {
    // It may have been judged meanwhile, and then has another reason.
    const now = await findReplica(tx, replica.id);
    if (now?.reason === replica.reason) await setReplica(tx, replica.id, { reason });
  });
}

const isRefused = ({ balancers }: Context, { serviceId, number }: Replica): boolean =>
  (balancers.seen(serviceId)?.replicas.find(({ id }) => id === number)?.problem ?? null) !== null;

/** Why a replica has its status, with where its server listens instead, and with nothing older of that. */
export const withStray = (reason: string, stray: string): string =>
  `${reason.split(before)[0]}${stray}`;

/** What such a reason says of that; undefined where it says nothing. */
export function strayOf(reason: string): string | undefined {
  const [, rest] = reason.split(before);
  return rest && `${beginning}${rest}`;
}

/**
 * Where the server of a replica listens while nothing listens on its `$PORT`, and what to do about it;
 * empty otherwise, and while its node does not say.
 */
export async function strayPorts(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  signal: AbortSignal,
): Promise<string> {
  const { jobId, listenPort, serverPort } = replica;
  try {
    const options = { signal, timeoutMs: askedMs };
    const ports = await ctx.agent(cluster, 0).call(api.listPorts, { id: jobId ?? 0 }, options);
    if (serverPort === null || ports.includes(serverPort)) return "";
    const others = ports.filter((port) => port !== listenPort);
    const { spec } = await openVersion(ctx, replica);
    return others.length === 0 ? "" : describe(others, serverPort, spec.port);
  } catch (error) {
    signal.throwIfAborted();
    ctx.log.debug({ err: error, cluster: cluster.name }, "ports of a replica not seen");
    return "";
  }
}

function describe(ports: readonly number[], serverPort: number, ofDocument: number): string {
  const more = ports.length - shownPorts;
  const shown = ports.slice(0, shownPorts).join(", ") + (more > 0 ? ` and ${more} more` : "");
  const wayOut = wayOutOf(ports, serverPort, ofDocument);
  return `${before}${shown}, not on $PORT, which is ${serverPort}: use $PORT${wayOut}`;
}

/** What helps besides; a port that is neither given nor the document's cannot be had anyhow. */
function wayOutOf(ports: readonly number[], serverPort: number, ofDocument: number): string {
  if (serverPort === ofDocument) return ", or name its port in the task";
  return ports.includes(ofDocument) ? ", or set service.isolation: netns" : "";
}
