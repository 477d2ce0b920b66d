import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../../common/errors.ts";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { findNumber } from "../../../../control/services/replicas/store.ts";
import { type ServiceBed, withService } from "../bed.ts";

const stays = new AppError("CloudError", "the cloud is closed");

const terminate = (replica_id: number, purge = false) => ({
  ...{ service_name: "chat", replica_id, purge },
});

/** What is printed while a replica is terminated. */
async function said({ world }: ServiceBed, number: number, purge = false): Promise<string> {
  const request = await world.call(rows.terminateReplica, terminate(number, purge));
  await world.get(rows.terminateReplica, request);
  return world.printed(request);
}

test("a terminated replica is drained and replaced", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.balancers.sees(1, { open: 2 });

  const goes = "Replica 1 of chat drains, then is removed.\n";
  assert.equal(await said(bed, 1), goes);
  await bed.untilReplica(1, "SHUTTING_DOWN");
  await bed.untilReplica(3, "READY");
  await assert.rejects(bed.world.run(rows.terminateReplica, terminate(1)), {
    type: "ConflictError",
    message: /replica 1 is already being removed \(terminated by /,
  });
  bed.balancers.sees(1, { open: 0 });
  await bed.untilReplica(1, "GONE");

  const { replica_info } = await bed.record();
  assert.deepEqual(
    replica_info.map(({ replica_id }) => replica_id),
    [2, 3],
  );
});

test("a replica that nobody has cannot be terminated", async (t) => {
  const bed = await withService(t);

  await assert.rejects(bed.world.run(rows.terminateReplica, terminate(9)), {
    type: "NotFoundError",
    message: "service chat has no replica 9",
  });
});

test("a replica that failed is forgotten by purge alone", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  bed.world.provider.agentOf((await bed.replica(1)).clusterId ?? "").end(1, "FAILED");
  await bed.untilReplica(1, "FAILED");

  await assert.rejects(bed.world.run(rows.terminateReplica, terminate(1)), {
    type: "ConflictError",
    message: "replica 1 has failed; to remove it from the list, pass --purge",
  });
  assert.equal(await said(bed, 1, true), "Replica 1 of chat is forgotten.\n");

  await bed.untilReplica(1, "GONE");
});

test("a replica that cannot be removed is forgotten by purge, and its cluster tried on", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  const { id } = await bed.service();
  bed.world.provider.fails("destroy", stays);
  await bed.world.run(rows.terminateReplica, terminate(1));
  await bed.untilReplica(1, "FAILED_CLEANUP");

  await assert.rejects(bed.world.run(rows.terminateReplica, terminate(1)), {
    type: "ConflictError",
    message:
      /replica 1 cannot be removed: the cloud is closed; to remove it from the list, pass --purge/,
  });
  await bed.world.run(rows.terminateReplica, terminate(1, true));

  assert.equal((await findNumber(bed.world.ctx.db, id, 1))?.status, "GONE");
  assert.equal((await bed.world.cluster("chat-1")).wanted, "GONE");
  bed.world.provider.fails("destroy", undefined);
  await bed.world.untilStatus("chat-1", "GONE");
});
