import type { TestContext } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import type { StoredLifecycle } from "../../../control/clusters/lifecycles/schema.ts";
import { listLifecycles } from "../../../control/clusters/lifecycles/store.ts";
import { listEvents } from "../../../control/events.ts";
import { until } from "../../helpers/agent.ts";
import type { FakeAgent } from "../../helpers/fake-agent.ts";
import { testWorld, type World, type WorldOptions } from "../../helpers/world.ts";

export const name = { cluster_name: "demo" };

/** A task with one hook an event, each named after it. */
export const hooked = `
run: echo hi
config:
  hooks:
    - { run: save-on-stop, events: [stop] }
    - { run: leave-on-down, events: [down] }
    - { run: flee, events: [preemption], timeout: 20 }
`;

/** A cluster that is up, and what tests ask of it. */
export interface Hooked {
  readonly world: World;
  readonly id: string;
  agent(rank?: number): FakeAgent;
  /** Resolves once a hook runs on a node. */
  hookRuns(rank?: number): Promise<void>;
  /** The newest lifecycle that control knows, once it is as said. */
  untilLifecycle(isSo: (one: StoredLifecycle) => boolean): Promise<StoredLifecycle>;
  /** What happened besides moves. */
  remarks(): Promise<string[]>;
}

export interface HookedOptions extends WorldOptions {
  readonly task?: string;
  /** Hooks run until the test ends them. */
  readonly holds?: boolean;
  /** Fields of the launch beside its task. */
  readonly launch?: object;
}

/** A world with a cluster that is up; its job has ended. */
export async function withHooks(t: TestContext, options: HookedOptions = {}): Promise<Hooked> {
  const { task = hooked, holds = false, launch = {}, ...more } = options;
  const world = await testWorld(t, more);
  await world.run(rows.launch, { ...name, task, ...launch });
  const cluster = await world.cluster("demo");
  const asked = asks(world, cluster.id);
  for (let rank = 0; rank < cluster.nodes; rank += 1) asked.agent(rank).node.holdsHooks = holds;
  return asked;
}

/** The same of a cluster that is there already, as after a crash of control. */
export function asks(world: World, id: string): Hooked {
  const { db } = world.ctx;
  const agent = (rank = 0) => world.provider.agentOf(id, rank);
  return {
    world,
    id,
    agent,
    async hookRuns(rank = 0) {
      const runs = () => world.provider.machines.get(`${id}-${rank}`)?.node.lifecycles ?? [];
      await until(
        async () =>
          runs().some((one) => one.runs.some(({ status }) => status === "RUNNING")) || undefined,
      );
    },
    untilLifecycle: (isSo) =>
      until(async () => {
        const [newest] = await listLifecycles(db, id);
        return newest !== undefined && isSo(newest) ? newest : undefined;
      }),
    async remarks() {
      const events = await listEvents(db, "cluster", id, { kinds: ["remarks"], limit: 100 });
      return events.map(({ reason }) => reason).filter((line) => !/^node \d runs/.test(line));
    },
  };
}
