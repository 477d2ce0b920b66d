import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import { findOccupant } from "../doors/ssh/occupant.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";

/**
 * Throws `ConflictError` where a host is a node of a cluster that the database does not have, or that
 * another control plane has.
 */
export async function refuseOccupied(
  ctx: Context,
  host: ReachedHost,
  signal: AbortSignal,
): Promise<void> {
  const occupant = await findOccupant(host, signal);
  if (occupant === undefined) return;
  const { control, clusterId, cluster } = occupant;
  const which = `cluster ${cluster.name} (${clusterId})`;
  if (control !== ctx.ssh.controlId)
    fail(
      "ConflictError",
      `it is a node of ${which} of another control plane; take that down first`,
    );
  if ((await findCluster(ctx.db, clusterId)) === undefined)
    fail(
      "ConflictError",
      `it is a node of ${which}, which is not in the database; see \`${product.word} api orphans\``,
    );
}
