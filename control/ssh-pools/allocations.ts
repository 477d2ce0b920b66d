import type { Context } from "../context.ts";
import type { Queries } from "../db/open.ts";
import { partsOfNodeId } from "../doors/node-id.ts";
import type { SshReach } from "./reach.ts";
import { type Host, type HostBook, isReady } from "./schema.ts";
import { howIs } from "./status.ts";
import * as store from "./store.ts";

/** Who has which host, in the database. */
export function openHostBook(
  { db, batch }: Pick<Context, "db" | "batch">,
  { targetOf }: Pick<SshReach, "targetOf">,
): HostBook {
  return {
    targetOf,
    listPools: () => store.listPoolNames(db),
    listHosts: () => store.listHosts(db),
    listFree: () => listFree(db),
    listShortages: () => listShortages(db),
    nodesOf: (clusterId) => store.listNodes(db, { clusterId }),
    async find(nodeId) {
      const { clusterId, rank } = partsOfNodeId(nodeId);
      const nodes = await store.listNodes(db, { clusterId });
      const node = nodes.find((one) => one.rank === rank);
      const host = node && (await store.findHost(db, node.host));
      return node && host && { node, host };
    },
    claim: ({ id: clusterId, name: clusterName, nodes }, choose) =>
      batch(async (tx) => {
        const taken = await store.listNodes(tx, { clusterId });
        const missing = [...Array(nodes).keys()].filter(
          (rank) => !taken.some((node) => node.rank === rank),
        );
        if (missing.length === 0) return;
        const chosen = choose(await listFree(tx), missing.length);
        for (const [index, { pool, name, machine }] of chosen.entries()) {
          const rank = missing[index] ?? 0;
          const node = { clusterId, clusterName, rank, host: { pool, name } };
          await store.addNode(tx, { ...node, state: "claimed" }, machine);
        }
      }),
    setState: (node, state) => batch((tx) => store.setNodeState(tx, node, state)),
    release: (node, isDirty) =>
      batch(async (tx) => {
        await store.deleteNode(tx, node);
        if (isDirty) await store.setHost(tx, node.host, { isDirty });
      }),
    adopt: (node, machine) =>
      batch(async (tx) => {
        if ((await store.findNodeOn(tx, machine)) === undefined)
          await store.addNode(tx, node, machine);
        await store.setHost(tx, node.host, { problem: null });
      }),
    setProblem: (host, problem) => batch((tx) => store.setHost(tx, host, { problem })),
  };
}

/** A machine that several pools have is free once. */
async function listFree(db: Queries) {
  const taken = await store.listTaken(db);
  const ready = (await store.listHosts(db)).filter(isReady);
  return ready.filter(
    ({ machine }, index) =>
      !taken.has(machine) && ready.findIndex((one) => one.machine === machine) === index,
  );
}

async function listShortages(db: Queries): Promise<string[]> {
  const taken = await store.listTaken(db);
  const nodes = await store.listNodes(db);
  const pools = Map.groupBy(await store.listHosts(db), ({ pool }) => pool);
  const isFree = (host: Host) => isReady(host) && !taken.has(host.machine);
  return [...pools]
    .filter(([, own]) => !own.some(isFree))
    .map(([pool, own]) =>
      [`ssh/${pool}: no host is free`, ...own.map((host) => howIs(host, nodes))].join("\n  "),
    );
}
