import assert from "node:assert/strict";
import { test } from "node:test";
import { takePorts } from "../../../../control/services/replicas/ports.ts";
import { addReplica, findReplica } from "../../../../control/services/replicas/store.ts";
import { addService } from "../../../../control/services/store.ts";
import type { OpenVersion } from "../../../../control/services/versions/task.ts";
import { aCluster } from "../../../helpers/clusters.ts";
import { testWorld } from "../../../helpers/world.ts";
import { writable } from "../../../helpers/writable.ts";
import { aReplica, aService } from "../rows.ts";

for (const provider of ["local", "another that shares machines"])
  test(`replicas that may meet on a machine of ${provider} get ports of their own`, async (t) => {
    const world = await testWorld(t);
    const { ctx } = world;
    Object.assign(world.provider, { name: provider, sharesMachines: true });
    await addService(writable(ctx), aService());
    const replicas = [1, 2, 3].map((number) => aReplica({ number }));
    for (const replica of replicas) await addReplica(writable(ctx), replica);
    const version = { spec: { port: 20_000, auth: {} } } as unknown as OpenVersion;

    const chosen = await Promise.all(
      replicas.map((one) => takePorts(ctx, one, aCluster({ provider }), version)),
    );

    const ports = chosen.flatMap(({ listenPort, serverPort }) => [listenPort, serverPort]);
    assert.equal(new Set(ports).size, 2 * replicas.length);
    for (const [at, { id }] of replicas.entries()) {
      const stored = await findReplica(ctx.db, id);
      assert.equal(stored?.listenPort, chosen[at]?.listenPort);
    }
  });

test("replicas with networks of their own all have the port of the document", async (t) => {
  const world = await testWorld(t);
  const { ctx } = world;
  Object.assign(world.provider, { name: "local" });
  await addService(writable(ctx), aService());
  const replicas = [1, 2].map((number) => aReplica({ number }));
  for (const replica of replicas) await addReplica(writable(ctx), replica);
  const version = { spec: { port: 8_080 } } as unknown as OpenVersion;
  const shared = aCluster({ provider: "local" });
  const cluster = { ...shared, offer: { ...shared.offer, network: "own" as const } };

  const chosen = await Promise.all(replicas.map((one) => takePorts(ctx, one, cluster, version)));

  const ports = { listenPort: 8_080, serverPort: 8_080 };
  assert.deepEqual(chosen, [ports, ports]);
});
