import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../../../control/config.ts";
import type { Offer } from "../../../../control/providers/provider.ts";
import {
  endScript,
  foldersScript,
  submitScript,
} from "../../../../control/providers/slurm/scripts.ts";
import { aSite, aSiteAlone, clusterAt, providerOf } from "./fake-site.ts";

const signal = new AbortController().signal;

const infras = (offers: readonly Offer[]) => offers.map(({ infra }) => infra);

test("sites offer in their order, those alone that a task may go to", async () => {
  const provider = providerOf(aSite("a"), aSite("b"));

  assert.deepEqual(await provider.places?.(), ["slurm", "slurm/a", "slurm/b"]);
  assert.deepEqual(infras(await provider.offers({}, signal)), ["slurm/a/low", "slurm/b/low"]);
  const there = await provider.offers({ infra: "slurm/b/low" }, signal);
  assert.deepEqual(infras(there), ["slurm/b/low"]);
});

test("the limits of the partition that a task would go to are told", async () => {
  const { provider, offer } = await aSiteAlone();
  const toldOf = (slurm: object) =>
    provider.outlook?.(offer, { nodes: 1, machine: { slurm } }, signal);

  assert.equal(await toldOf({}), "time limit infinite, 1-4 nodes");
  assert.equal(await toldOf({ sbatch_options: { partition: "other" } }), "");
});

test("a cluster has its site, which another control plane finds again", async () => {
  const [a, b] = [aSite("a"), aSite("b")];
  const [, there] = await providerOf(a, b).offers({}, signal);
  assert.ok(there);
  const cluster = clusterAt("c1", there);
  await providerOf(a, b).create(cluster, 0, signal);
  assert.deepEqual([a.jobs.size, b.jobs.size], [0, 1]);

  const provider = providerOf(a, b);
  assert.deepEqual(
    (await provider.list(cluster, signal)).map(({ state }) => state),
    ["running"],
  );
  assert.deepEqual(
    (await provider.find?.(signal))?.map(({ id }) => id),
    ["c1-0"],
  );
  await providerOf(a, b).destroy("c1-0", signal);
  assert.equal(b.jobs.size, 0);
});

test("creating the nodes of a cluster that was prepared asks nothing more of the login node", async () => {
  const { site, provider, cluster } = await aSiteAlone();
  await provider.prepare?.(cluster, signal);
  const { length } = site.calls;

  await provider.create(cluster, 0, signal);
  assert.equal(site.calls.length, length);
  await providerOf(site).create(cluster, 0, signal);
  assert.equal(site.calls.filter((script) => script === submitScript).length, 2);

  await provider.destroy("c1-0", signal);
  await provider.create(cluster, 0, signal);
  assert.equal(site.calls.filter((script) => script === submitScript).length, 3);
});

test("the end of a cluster goes to its own site, not to another one that has a job of it", async () => {
  const [a, b] = [aSite("a"), aSite("b")];
  const [here, there] = await providerOf(a, b).offers({}, signal);
  assert.ok(here && there);
  for (const offer of [here, there])
    await providerOf(a, b).create(clusterAt("c1", offer), 0, signal);

  const provider = providerOf(a, b);
  await provider.list(clusterAt("c1", here), signal);
  await provider.find?.(signal);
  await provider.destroy("c1-0", signal);
  assert.deepEqual([a.jobs.size, b.jobs.size], [0, 1]);
});

test("the nodes of a cluster that are destroyed side by side have one end", async () => {
  const { site, provider, cluster } = await aSiteAlone();
  await provider.create({ ...cluster, nodes: 2 }, 0, signal);

  await Promise.all(["c1-0", "c1-1"].map((nodeId) => provider.destroy(nodeId, signal)));
  assert.equal(site.calls.filter((script) => script === endScript).length, 1);
});

test("an allocation that comes after its cluster was ended is seen, and ended too", async () => {
  const { site, provider, cluster } = await aSiteAlone();
  await provider.create(cluster, 0, signal);
  await provider.destroy("c1-0", signal);

  // As one whose submission was on its way when control was killed.
  await providerOf(site).create(cluster, 0, signal);
  assert.equal((await provider.list(cluster, signal)).length, 1);
  assert.equal((await provider.find?.(signal))?.length, 1);
  await provider.destroy("c1-0", signal);
  assert.equal(site.jobs.size, 0);
});

test("however many clusters end at once, few scripts wait for that, and others go on meanwhile", async () => {
  const site = aSite("a");
  const { login } = site.given;
  const [ended, run] = [Promise.withResolvers<void>(), login.run];
  let [waiting, most] = [0, 0];
  Object.assign(login, {
    async run(script: string, args: string[]) {
      if (script !== endScript) return run(script, args);
      waiting += 1;
      most = Math.max(most, waiting);
      await ended.promise;
      waiting -= 1;
      return run(script, args);
    },
  });
  const provider = providerOf(site);
  const [offer] = await provider.offers({}, signal);
  assert.ok(offer);
  const clusters = Array.from({ length: 10 }, (_, at) => clusterAt(`c${at}`, offer));
  for (const one of clusters) await provider.create(one, 0, signal);

  const ends = clusters.map(({ id }) => provider.destroy(`${id}-0`, signal));
  assert.equal((await provider.find?.(signal))?.length, 10);
  ended.resolve();
  await Promise.all(ends);

  assert.deepEqual([most, site.jobs.size], [3, 0]);
});

test("nothing is submitted after an abort while the agent was brought to the login node", async () => {
  const { site, provider, cluster } = await aSiteAlone();
  const ending = new AbortController();
  const agent = async () => {
    ending.abort();
    return ["agent"];
  };
  Object.assign(site.given.login, { agent });

  const launch = provider.prepare?.(cluster, ending.signal);
  await assert.rejects(launch as Promise<void>, { name: "AbortError" });
  assert.equal(site.jobs.size, 0);
});

test("a site that is away hides no other, and one that is not configured any more loses no cluster", async () => {
  const [a, b] = [aSite("a"), aSite("b")];
  const provider = providerOf(a, b);
  const [, there] = await provider.offers({}, signal);
  assert.ok(there);
  const cluster = clusterAt("c1", there);
  await provider.create(cluster, 0, signal);

  a.isAway = true;
  assert.deepEqual(infras(await providerOf(a, b).offers({}, signal)), ["slurm/b/low"]);
  assert.equal((await providerOf(a, b).find?.(signal))?.length, 1);
  await assert.rejects(providerOf(a, b).destroy("c1-0", signal), { message: /a is away/ });
  await assert.rejects(providerOf(a).offers({}, signal), { message: /a is away/ });
  await assert.rejects(providerOf(a).list(cluster, signal), { message: /no site b; add it/ });
});

test("a site that went away is not offered beside others, and launches do not wait for it each time", async () => {
  const [a, b] = [aSite("a"), aSite("b")];
  const provider = providerOf(a, b);
  assert.deepEqual(infras(await provider.offers({}, signal)), ["slurm/a/low", "slurm/b/low"]);

  const [offer] = await provider.offers({ infra: "slurm/a" }, signal);
  assert.ok(offer);
  a.isMute = true;
  await assert.rejects(provider.prepare?.(clusterAt("c1", offer), signal) as Promise<void>);
  assert.deepEqual(infras(await provider.offers({}, signal)), ["slurm/b/low"]);
  const { length } = a.calls;
  assert.deepEqual(infras(await provider.offers({}, signal)), ["slurm/b/low"]);
  assert.equal(a.calls.length, length);
  await assert.rejects(provider.offers({ infra: "slurm/a" }, signal), { message: /contact/ });
});

test("a site that is well again is offered where no other has what a task needs, or none answers", async () => {
  const [a, b] = [aSite("a"), aSite("b")];
  a.gpus = "gpu:h100:1";
  const gpu = { accelerators: { name: "h100", count: 1 }, nodes: 1 };
  const provider = providerOf(a, b);
  a.isAway = true;
  assert.deepEqual(infras(await provider.offers({}, signal)), ["slurm/b/low"]);
  assert.deepEqual(await provider.offers(gpu, signal), []);

  a.isAway = false;
  assert.deepEqual(infras(await provider.offers(gpu, signal)), ["slurm/a/low"]);

  const another = providerOf(a, b);
  [a.isAway, b.isAway] = [true, true];
  await assert.rejects(another.offers({}, signal), { message: /a is away/ });
  a.isAway = false;
  assert.deepEqual(infras(await another.offers({ nodes: 1 }, signal)), ["slurm/a/low"]);
});

test("a site that is away is passed over where nothing was submitted, and kept where a job may be", async () => {
  const { site, provider, offer, cluster } = await aSiteAlone();
  const [one, two] = [cluster, clusterAt("c2", offer)];
  await provider.create(two, 0, signal);
  site.isMute = true;

  // Another control plane, or this one begun anew.
  const later = providerOf(site);
  const [isNothing, mayBe] = [later.list(one, signal), later.list(two, signal)];
  await assert.rejects(mayBe, { message: /contact slurm controller$/ });
  assert.deepEqual(await isNothing, []);
  // One call for all clusters.
  assert.equal(site.calls.filter((script) => script === foldersScript).length, 1);
  await assert.rejects(later.prepare?.(one, signal) as Promise<void>, {
    type: "ResourcesUnavailableError",
    message: /contact slurm controller; nothing was submitted$/,
    details: { refusal: "capacity" },
  });
  await assert.rejects(later.prepare?.(two, signal) as Promise<void>, { type: "CloudError" });

  await assert.rejects(provider.prepare?.(one, signal) as Promise<void>, {
    type: "ResourcesUnavailableError",
    details: { refusal: "capacity" },
  });
  assert.deepEqual(await provider.list(one, signal), []);
  await assert.rejects(provider.prepare?.(two, signal) as Promise<void>, {
    type: "CloudError",
    message: /contact slurm controller$/,
  });
  site.isMute = false;
  assert.equal((await provider.list(two, signal)).length, 1);
  await provider.prepare?.(one, signal);
  assert.equal(site.jobs.size, 2);
});

test("a task in an image goes to sites that can run it, and is refused with what to do where none has it", async () => {
  const [bare, site] = [aSite("bare"), aSite("site")];
  site.engine = "/usr/bin/apptainer";
  const provider = providerOf(bare, site);
  const container = true;

  assert.deepEqual(infras(await provider.offers({ container }, signal)), ["slurm/site/low"]);
  assert.match(`${provider.refusal?.({ container, infra: "slurm/bare" })}`, /podman or Apptainer/);
  assert.equal(provider.refusal?.({ container, infra: "slurm" }), undefined);
  assert.equal(provider.refusal?.({ container }), undefined);
  assert.equal(provider.refusal?.({ container, infra: "slurm/typo" }), undefined);
  assert.equal(provider.refusal?.({ infra: "slurm/bare" }), undefined);
});

test("a login node is named as for ssh, and each site has a name of its own", () => {
  const sitesOf = (list: string) => readConfig({ OUTRIGGER_SLURM: list }).slurm;
  assert.deepEqual(sitesOf("off"), []);
  assert.deepEqual(sitesOf("hpc"), [{ name: "hpc", login: { name: "hpc" } }]);
  assert.deepEqual(sitesOf("local,lab=ana@login.example.org:2222"), [
    { name: "local", login: "local" },
    { name: "lab", login: { name: "login.example.org", user: "ana", port: 2222 } },
  ]);
  for (const wrong of ["a,off", "ana@hpc,bob@hpc", "a,,b", "a;b"])
    assert.throws(() => sitesOf(wrong), { message: /^OUTRIGGER_SLURM: write off, or a list/ });
});
