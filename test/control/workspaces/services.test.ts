import assert from "node:assert/strict";
import { test } from "node:test";
import { serveOperations as serve } from "../../../contract/operations/serve.ts";
import { workspaceOperations as rows } from "../../../contract/operations/workspaces.ts";
import { until } from "../../helpers/agent.ts";
import { aTask, serviceBed } from "../services/bed.ts";

/** A bed whose default workspace has limits. */
async function limitedBed(t: Parameters<typeof serviceBed>[0], limits: Record<string, number>) {
  const bed = await serviceBed(t);
  const limit = (more: Record<string, number>) =>
    bed.world.run(rows.update, { workspace_name: "default", config: { limits: more } });
  await limit(limits);
  return { ...bed, limit };
}

test("a service whose fewest replicas do not fit is refused as it is brought up", async (t) => {
  const { world, limit } = await limitedBed(t, { accelerators: 15 });
  const up = () => world.run(serve.up, { task: aTask(), service_name: "chat" });

  await assert.rejects(up(), {
    type: "UserRequestRejectedByPolicy",
    message: /0 of 15 accelerators are in use, and this takes 16 \(accelerators\)/,
  });
  await limit({ accelerators: 16, idle_minutes: 5 });
  await up();
});

test("a replica over a limit waits with the reason, and goes on once there is room", async (t) => {
  const bed = await limitedBed(t, { clusters: 2 });
  const { world, untilReplica, untilReady, replica, look, limit } = bed;
  await world.run(serve.up, { task: aTask(), service_name: "chat" });
  await untilReady(1, 2);
  await limit({ clusters: 1 });
  await world.provider.lose((await replica(1)).clusterId ?? "", 0);

  const waiting = await until(async () => {
    await look();
    const found = await replica(3).catch(() => undefined);
    return found?.reason.startsWith("waits until its workspace allows it: ") ? found : undefined;
  });

  assert.equal(waiting.status, "PENDING");
  assert.match(waiting.reason, /: [12] of 1 clusters are in use, and this takes 1 \(clusters\)$/);
  const { text } = await world.http("GET", "/explain?name=chat");
  assert.match(
    text,
    /replica 3 is PENDING: waits until its workspace allows it: workspace default: /,
  );
  await limit({ clusters: 3 });
  await look();
  await untilReplica(3, "READY");
});

test("an update counts the new replicas in place of the old ones", async (t) => {
  const { world, untilReady } = await limitedBed(t, { clusters: 3 });
  await world.run(serve.up, { task: aTask(), service_name: "chat" });
  await untilReady(1, 2);
  const update = (replicas: number) =>
    world.run(serve.update, {
      task: aTask().replace("replicas: 2", `replicas: ${replicas}`),
      service_name: "chat",
      mode: "rolling",
    });

  await assert.rejects(update(4), { message: /0 of 3 clusters are in use, and this takes 4/ });
  await update(3);
});
