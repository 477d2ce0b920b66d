import assert from "node:assert/strict";
import { basename } from "node:path";
import { pino } from "pino";
import { AppError } from "../../../../common/errors.ts";
import type { ClusterRef, Offer } from "../../../../control/providers/provider.ts";
import {
  complaintScript,
  endScript,
  foldersScript,
  nodesScript,
  queueScript,
  submitScript,
  unsubmitted,
} from "../../../../control/providers/slurm/scripts.ts";
import type { Site } from "../../../../control/providers/slurm/site.ts";
import { slurmProvider } from "../../../../control/providers/slurm/slurm.ts";

const complaint = (rest: string) =>
  new AppError("CloudError", `Slurm: Unable to contact slurm controller${rest}`);

/** A site with one node, whose jobs run at once; where it is mute, the login node alone answers. */
export function aSite(name: string) {
  let nextId = 1;
  const jobs = new Map<string, string>();
  const calls: string[] = [];
  const site = { name, jobs, isAway: false, isMute: false, engine: "", gpus: "(null)", calls };
  async function run(
    script: string,
    [folder = "", , , , , , , ...options]: readonly string[],
    signal?: AbortSignal,
  ) {
    signal?.throwIfAborted();
    site.calls.push(script);
    if (site.isAway) throw new Error(`${name} is away`);
    if (script === foldersScript) return [...jobs.keys()].map((one) => basename(one)).join("\n");
    if (site.isMute)
      throw complaint(script === submitScript && !jobs.has(folder) ? unsubmitted : "");
    if (script === nodesScript)
      return `low*|up|infinite|1|8|64000|${site.gpus}|1-4\n--\nn1|n1\n--\n${site.engine}\n`;
    if (script === complaintScript) return `: ${basename(folder)} has no room`;
    if (script === queueScript) return [...jobs.values()].join("\n");
    if (script === endScript) jobs.delete(folder);
    if (script !== submitScript || jobs.has(folder)) return "";
    const comment = options.find((one) => one.startsWith("--comment="))?.slice(10);
    jobs.set(folder, `${nextId}|RUNNING|None|start|n1|low|1|${comment}`);
    nextId += 1;
    return "";
  }
  const login = { run, folder: async () => "/home", agent: async () => ["agent"] };
  const more = { scratch: "/tmp", controlId: "c", epoch: 1, forwards: { close() {} } };
  return Object.assign(site, { given: { name, login, ...more } as unknown as Site });
}

export const providerOf = (...sites: ReturnType<typeof aSite>[]) =>
  slurmProvider(
    sites.map(({ given }) => given),
    pino({ level: "silent" }),
  );

/** A site by itself, and a cluster for what it offers. */
export async function aSiteAlone() {
  const site = aSite("a");
  const provider = providerOf(site);
  const [offer] = await provider.offers({}, new AbortController().signal);
  assert.ok(offer);
  return { site, provider, offer, cluster: clusterAt("c1", offer) };
}

export const clusterAt = (id: string, offer: Offer): ClusterRef => ({
  ...{ id, name: id, nodes: 1, ports: [], labels: {}, user: { id: "u", name: "ann" } },
  ...{ machine: {}, offer },
});
