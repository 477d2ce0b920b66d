import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import type { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { streamOver } from "../../../contract/websocket.ts";
import type { SocketReply } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { getRunning } from "../find.ts";
import { readKeys } from "./keys.ts";
import { refuseTooMany, serveSsh } from "./server.ts";

/** Clients above this say of each message what it is. Source: the protocol of existing clients. */
const lastUntyped = 21;

/** Opens the way to a node for a client that speaks SSH. */
export async function openSsh(ctx: Context, input: InputOf<typeof rows.ssh>): Promise<SocketReply> {
  const { cluster_name: name, worker: rank, client_version: version } = input;
  const cluster = await getRunning(ctx, name);
  if (rank >= cluster.nodes)
    fail(
      "ValueError",
      `cluster ${name} has ${cluster.nodes} nodes; the last is node ${cluster.nodes - 1}`,
    );
  refuseTooMany(ctx);
  // Read before the client is let in, which otherwise would not hear why it is turned away.
  const keys = await readKeys(ctx.config);
  return {
    lead(socket) {
      const way = streamOver(socket, (version ?? 0) > lastUntyped);
      way.on("error", (error) => ctx.log.debug({ err: error }, "WebSocket broke"));
      serveSsh(ctx, { cluster, rank, keys }, way).catch((error) => {
        ctx.log.warn({ err: error }, "SSH is not served");
        way.destroy();
      });
    },
  };
}
