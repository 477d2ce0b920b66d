import type { TestContext } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { testWorld, type World, type WorldOptions } from "../../helpers/world.ts";

export const demo = { cluster_name: "demo", task: "run: 'true'" };

/** What `/api/status` lists. */
export const list = async (world: World, query = "") =>
  (await world.http("GET", `/api/status${query}`)).json as unknown as Record<string, string>[];

/** A world with a launch that waits for its node. */
export async function withLaunch(t: TestContext, config: WorldOptions["config"] = {}) {
  const world = await testWorld(t, { config });
  const release = world.provider.holds("create");
  const id = await world.call(clusters.launch, demo);
  await world.provider.held("create");
  return { world, id, release };
}
