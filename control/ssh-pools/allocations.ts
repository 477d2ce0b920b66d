import { canContain, howToRunContainers, whyUnreached } from "../../common/containers.ts";
import { product } from "../../common/product.ts";
import { isWithin } from "../../contract/task/infra.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/open.ts";
import { partsOfNodeId } from "../doors/node-id.ts";
import type { Need } from "../providers/provider.ts";
import type { SshReach } from "./reach.ts";
import { type Host, type HostBook, isReady } from "./schema.ts";
import { howIs } from "./status.ts";
import * as store from "./store.ts";

const namedAtMost = 5;

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
    listShortages: (need) => listShortages(db, need),
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

async function listShortages(db: Queries, need: Need = {}): Promise<string[]> {
  const { infra = "ssh", nodes: count = 1 } = need;
  const taken = await store.listTaken(db);
  const nodes = await store.listNodes(db);
  const asked = (await store.listHosts(db)).filter(({ pool, name }) =>
    isWithin(`ssh/${pool}/${name}`, infra),
  );
  return [...Map.groupBy(asked, ({ pool }) => pool)].flatMap(([pool, own]) => {
    const free = own.filter((host) => isReady(host) && !taken.has(host.machine));
    const isOne = infra === `ssh/${pool}/${own[0]?.name}`;
    const [place, none] = isOne ? [infra, "the host is not free"] : [`ssh/${pool}`, noneFree];
    if (free.length === 0)
      return [`${place}: ${none}`, ...own.map((host) => howIs(host, nodes))].join("\n  ");
    const unfit = free.filter(({ facts }) => !canContain(facts?.containers, need));
    const isShort = unfit.length > 0 && free.length - unfit.length < count;
    // Hosts are looked at again only then.
    return isShort ? [`${place}: ${whyUnfit(unfit)}; then run \`${product.word} ssh up\``] : [];
  });
}

const noneFree = "no host is free";

function whyUnfit(free: readonly Host[]): string {
  const lacking = free.filter(({ facts }) => !facts?.containers);
  return lacking.length > 0
    ? `free hosts without docker, podman or Apptainer for their user: ${namesOf(lacking)}; ${howToRunContainers}`
    : `free hosts whose docker is rootless: ${namesOf(free)}; ${whyUnreached}`;
}

function namesOf(hosts: readonly Host[]): string {
  const names = hosts.slice(0, namedAtMost).map(({ name }) => name);
  return `${names.join(", ")}${hosts.length > namedAtMost ? ", ..." : ""}`;
}
