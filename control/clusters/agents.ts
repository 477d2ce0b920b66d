import type { Dispatcher } from "undici";
import { type Agent, agentBehind } from "../doors/agent.ts";
import { nodeIdOf } from "../doors/node-id.ts";
import type { Provider } from "../providers/provider.ts";
import type { Cluster } from "./schema.ts";

/** The agents of clusters; a node's door is opened once and kept. */
export interface Agents {
  of(provider: Provider, cluster: Pick<Cluster, "id" | "name">, rank: number): Agent;
  /** Closes the doors of a cluster. */
  forget(clusterId: string): void;
  close(): Promise<void>;
}

/** Opens no door yet. */
export function openAgents(): Agents {
  const doors = new Map<string, Map<number, { door: Dispatcher; agent: Agent }>>();
  return {
    of(provider, { id, name }, rank) {
      const ranks = doors.get(id) ?? new Map();
      doors.set(id, ranks);
      const known = ranks.get(rank);
      if (known !== undefined) return known.agent;
      const door = provider.door(nodeIdOf({ id }, rank));
      const agent = agentBehind(door, `the agent of node ${rank} of ${name}`);
      ranks.set(rank, { door, agent });
      return agent;
    },
    forget(clusterId) {
      for (const { door } of doors.get(clusterId)?.values() ?? []) void door.destroy();
      doors.delete(clusterId);
    },
    async close() {
      const all = [...doors.values()].flatMap((ranks) => [...ranks.values()]);
      await Promise.all(all.map(({ door }) => door.destroy()));
    },
  };
}
