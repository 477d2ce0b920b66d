import { AppError, fail } from "../../../common/errors.ts";
import { isWithin } from "../../../contract/task/infra.ts";
import { partsOfNodeId } from "../../doors/node-id.ts";
import { openChannelDoor } from "../../doors/ssh/door.ts";
import { within } from "../../doors/ssh/trouble.ts";
import type { Logger } from "../../log.ts";
import type { ClusterRef, Need, Provider } from "../provider.ts";
import { wrapErrors } from "../wrap-errors.ts";
import { agentBuild, type OpenSite, openSite, type Site } from "./site.ts";

/** Less than a provider may take: other sites are offered all the same. */
const answerMs = 8_000;

const late = () => new AppError("TimeoutError", `no answer within ${answerMs / 1_000} s`);

/** How long offers skip a site that did not answer, if others do. */
const silentMs = 30_000;

/** Sites of Slurm as one cloud, which are tried in their order. */
export function slurmProvider(given: readonly Site[], log: Logger): Provider {
  const sites = given.map(openSite);
  const [only] = sites.length === 1 ? sites : [];
  /** Where clusters are, by their ids: what a cluster says itself counts more than what was found. */
  const seen = new Map<string, OpenSite>();
  /** When sites last did not answer. */
  const silentAt = new Map<string, number>();

  const siteNamed = (region: string | null): OpenSite =>
    sites.find(({ name }) => name === region) ??
    fail("CloudError", `OUTRIGGER_SLURM has no site ${region}; add it, as ${region}=LOGIN`);

  const sitesIn = (infra: string | undefined) =>
    sites.filter(({ name }) => isAnyWithin(name, infra));

  function siteOf({ id, offer }: Pick<ClusterRef, "id" | "offer">): OpenSite {
    const site = siteNamed(offer.region);
    seen.set(id, site);
    return site;
  }

  /** What each site answers; one that does not answer is remembered. */
  const ask = <T>(asked: OpenSite[], answerOf: (site: OpenSite) => Promise<T[]>) =>
    Promise.allSettled(
      asked.map((site) =>
        within(answerOf(site), answerMs, late).catch((err: unknown) => {
          silentAt.set(site.name, performance.now());
          log.warn({ err, site: site.name }, "a Slurm site does not answer");
          throw err;
        }),
      ),
    );

  async function look(site: OpenSite) {
    const found = await site.find();
    for (const { clusterId } of found.map(({ id }) => partsOfNodeId(id)))
      if (!seen.has(clusterId)) seen.set(clusterId, site);
    return found;
  }

  /** Where a node is; a site that does not answer may have one that was never seen. */
  async function placeOf(nodeId: string): Promise<OpenSite | undefined> {
    const { clusterId } = partsOfNodeId(nodeId);
    if (only === undefined) for (const site of sites) if (!seen.has(clusterId)) await look(site);
    return only ?? seen.get(clusterId);
  }

  const getPlace = async (nodeId: string): Promise<OpenSite> =>
    (await placeOf(nodeId)) ?? fail("CloudError", `node ${nodeId} has no allocation`);

  async function offers(need: Need) {
    if (need.isSpot || need.mounts) return [];
    const since = performance.now() - silentMs;
    const { awake = [], silent = [] } = Object.groupBy(sitesIn(need.infra), ({ name }) =>
      (silentAt.get(name) ?? since) <= since ? "awake" : "silent",
    );
    // What a site has is remembered for a while; of several, only those are offered that answer now.
    const offersAt = async (site: OpenSite) =>
      (await Promise.all([site.offers(need), only ?? look(site)]))[0];
    const found = await ask(awake, offersAt);
    const isEnough = found.some((one) => one.status === "fulfilled" && one.value.length > 0);
    return together(isEnough ? found : [...found, ...(await ask(silent, offersAt))]);
  }

  return {
    name: "slurm",
    queues: true,
    sharesMachines: true,
    refusal: ({ container, infra }) =>
      container &&
      infra !== undefined &&
      isWithin(infra, "slurm") &&
      sitesIn(infra).length > 0 &&
      sitesIn(infra).every((site) => site.lacksEngine())
        ? noContainers
        : undefined,
    agentBuild,
    places: async () => ["slurm", ...sites.map(({ name }) => `slurm/${name}`)],
    outlook: async (offer, asked, signal) =>
      siteNamed(offer.region).outlook({ ...asked, offer }, signal),
    async inspect(place, signal) {
      const asked = sites.filter(({ name }) => place === null || name === place);
      return Promise.all(asked.map((site) => site.inspect(signal)));
    },
    ...wrapErrors("Slurm", {
      offers,
      find: async () => together(await ask(sites, look)),
      prepare: async (cluster: ClusterRef, signal: AbortSignal) =>
        siteOf(cluster).prepare(cluster, signal),
      create: async (cluster: ClusterRef, _rank: number, signal: AbortSignal) =>
        siteOf(cluster).create(cluster, signal),
      list: async (cluster: ClusterRef) => siteOf(cluster).list(cluster),
      async destroy(nodeId: string, signal: AbortSignal) {
        await (await placeOf(nodeId))?.destroy(nodeId, signal);
        seen.delete(partsOfNodeId(nodeId).clusterId);
      },
      endAgent: async (nodeId: string, signal: AbortSignal) =>
        (await getPlace(nodeId)).endAgent(nodeId, signal),
    }),
    door: (nodeId) => openChannelDoor(async () => (await getPlace(nodeId)).reach(nodeId)),
    endpoint: async (node, port) => (await getPlace(node.id)).endpoint(node, port),
  };
}

const noContainers =
  "jobs on Slurm run in an image where the login node and the nodes have podman or Apptainer in the `PATH` of a login, " +
  "and this one has neither; leave out `image_id`, or have one of them installed";

/** What answered; throws what the first one failed with if none did. */
function together<T>(answers: readonly PromiseSettledResult<T[]>[]): T[] {
  const [first] = answers;
  if (first?.status === "rejected" && answers.every(({ status }) => status === "rejected"))
    throw first.reason;
  return answers.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
}

const isAnyWithin = (site: string, infra: string | undefined): boolean =>
  infra === undefined || isWithin(`slurm/${site}`, infra) || isWithin(infra, `slurm/${site}`);
