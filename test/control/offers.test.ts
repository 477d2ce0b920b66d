import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { AppError } from "../../common/errors.ts";
import { openSeal } from "../../common/seal.ts";
import { openCatalog } from "../../control/clouds/catalog.ts";
import type { Context } from "../../control/context.ts";
import { openDatabase } from "../../control/db/open.ts";
import { askedOfReplica } from "../../control/needs.ts";
import { chooseOffer, listOffers, refuseImpossible } from "../../control/offers.ts";
import type { Need, Offer, Provider } from "../../control/providers/provider.ts";
import { readTask } from "../../control/task.ts";
import { openConfigurations } from "../../control/workspaces/configurations.ts";
import { aCluster } from "../helpers/clusters.ts";

/** Nothing was refused. */
const db = await openDatabase(":memory:");
const home = mkdtempSync(join(tmpdir(), "offers-"));
after(async () => {
  await db.destroy();
  rmSync(home, { recursive: true });
});
const configurations = openConfigurations(db, openSeal(join(home, "seal.key")));
const catalog = openCatalog(join(home, "catalog"), assert.fail);
const ground = { db, configurations, catalog, now: () => new Date() };

const aTask = (isolation: string) =>
  readTask(`service: {ports: 80, isolation: ${isolation}}`, "serve.up");

/** A control whose providers offer something only where nobody asks for networks. */
function aWorld(...providers: Partial<Provider>[]) {
  const asked: Need[] = [];
  const offers = async (need: Need): Promise<Offer[]> => {
    asked.push(need);
    return need.network === undefined ? [aCluster().offer] : [];
  };
  const ctx = {
    ...ground,
    providers: providers.map((one) => ({ offers, ...one })),
  } as unknown as Context;
  return { ctx, asked };
}

/** A line of `run`, the rest of the document, and whether two replicas of it need ports of their own. */
const servers: readonly (readonly [run: string, rest: string, own: boolean])[] = [
  ["python3 -m http.server 8080", "", true],
  ["serve --listen 0.0.0.0:8080", "", true],
  ["serve --port $MINE", "envs: {MINE: 8080}", true],
  ["python3 -m http.server $PORT", "", false],
  ["PORT=8080 serve --port $PORT", "", false],
  ["serve $OUTRIGGER_REPLICA_PORT --not 8080", "", false],
  ["serve --threads 18080", "", false],
  ["serve", "", false],
];

for (const [run, rest, own] of servers)
  test(`\`${run}\` ${own ? "needs ports of its own" : "can share this machine's ports"}`, () => {
    const networkOf = (service: string) => {
      const text = `${rest}\nrun: "${run}"\nservice: {ports: 8080, ${service}}`;
      return askedOfReplica(readTask(text, "serve.up"), "default").network;
    };

    assert.equal(networkOf("replicas: 2"), own ? "own" : undefined);
    assert.equal(
      networkOf("replica_policy: {min_replicas: 1, max_replicas: 2, target_qps_per_replica: 1}"),
      own ? "own" : undefined,
    );
    assert.equal(networkOf("replicas: 1"), undefined);
    assert.equal(networkOf("replicas: 2, isolation: none"), undefined);
    assert.equal(networkOf("replicas: 1, isolation: netns"), "own");
  });

const refusing: Partial<Provider> = {
  refusal: ({ network }) => network && "run control as root",
};

test("only replicas that are to be apart ask for networks of their own", async (t) => {
  const { ctx, asked } = aWorld({});

  await chooseOffer(ctx, askedOfReplica(aTask("none"), "default"), t.signal);
  await assert.rejects(chooseOffer(ctx, askedOfReplica(aTask("netns"), "default"), t.signal));

  assert.deepEqual(asked.slice(0, 2), [
    { nodes: 1, reached: true },
    { nodes: 1, network: "own", reached: true },
  ]);
});

test("what no machine will ever give is refused with what to do", async (t) => {
  const { ctx } = aWorld(refusing);
  const error = { name: "NotSupportedError", message: "run control as root" };

  await assert.rejects(refuseImpossible(ctx, aTask("netns"), "default", t.signal), error);
  await assert.rejects(
    chooseOffer(ctx, askedOfReplica(aTask("netns"), "default"), t.signal),
    error,
  );
  await refuseImpossible(ctx, aTask("none"), "default", t.signal);
});

test("whoever asks for a place by name is told why it has nothing now", async (t) => {
  const all = [
    "ssh/lab: no host is free\n  a: node 0 of dev\n  b: it is off",
    "ssh/attic: no host is free",
  ];
  const shortages = async ({ infra = "" } = {}) => all.filter((text) => text.startsWith(infra));
  const places = async () => ["ssh", "ssh/lab", "ssh/attic"];
  const { ctx } = aWorld({ offers: async () => [], shortages, places });
  const ask = (infra: string) =>
    chooseOffer(
      ctx,
      askedOfReplica(readTask(`{num_nodes: 2, resources: {infra: ${infra}}}`, "launch"), "default"),
      t.signal,
    );

  await assert.rejects(ask("ssh/lab"), {
    message:
      /^nothing offers 2 nodes with infra ssh.lab; .*; ssh.lab: no host is free, a: node 0 of dev, b: it is off; the state of hosts/,
  });
  await assert.rejects(ask("ssh"), {
    message: /no host is free, a: .*; ssh.attic: no host is free/,
  });
});

test("what one provider refuses may come from another", async (t) => {
  const { ctx } = aWorld(refusing, { offers: async () => [aCluster().offer] });

  await refuseImpossible(ctx, aTask("netns"), "default", t.signal);
  const offer = await chooseOffer(ctx, askedOfReplica(aTask("netns"), "default"), t.signal);

  assert.equal(offer.provider, "fake");
});

test("what is only taken now is not refused for ever", async (t) => {
  const { ctx } = aWorld({ couldOffer: async () => true });
  const { ctx: without } = aWorld({ couldOffer: async () => false });
  const task = aTask("netns");
  const error = { name: "ResourcesUnavailableError", message: /^nothing offers any machine; / };

  await refuseImpossible(ctx, task, "default", t.signal);
  await assert.rejects(chooseOffer(ctx, askedOfReplica(task, "default"), t.signal), error);
  await assert.rejects(refuseImpossible(without, task, "default", t.signal), error);
});

test("a spot machine of a provider that has such may come at any time", async (t) => {
  const { ctx } = aWorld({ hasSpot: async () => true, offers: async () => [] });
  const { ctx: without } = aWorld({ offers: async () => [] });
  const task = readTask("{service: {ports: 80}, resources: {use_spot: true}}", "serve.up");

  await refuseImpossible(ctx, task, "default", t.signal);
  await assert.rejects(refuseImpossible(without, task, "default", t.signal), {
    message: /^nothing offers/,
  });
});

const failing: Partial<Provider> = {
  name: "broken",
  offers: async () => {
    throw new AppError("CloudError", "its key has expired");
  },
};
/** It does not even listen to an abort. */
const hanging: Partial<Provider> = { name: "hung", offers: () => new Promise<never>(() => {}) };

test("a provider that fails or hangs does not keep others from being chosen", async (t) => {
  t.mock.method(AbortSignal, "timeout", () => AbortSignal.abort());
  const { ctx } = aWorld(failing, hanging, { offers: async () => [aCluster().offer] });

  const offer = await chooseOffer(ctx, askedOfReplica(aTask("none"), "default"), t.signal);

  assert.equal(offer.provider, "fake");
});

test("when nothing is offered, providers that did not answer are named", async (t) => {
  t.mock.method(AbortSignal, "timeout", () => AbortSignal.abort());
  const { ctx } = aWorld(failing, hanging);

  await assert.rejects(chooseOffer(ctx, askedOfReplica(aTask("none"), "default"), t.signal), {
    name: "ResourcesUnavailableError",
    message: /there is: broken does not answer: .*; hung does not answer: no answer within 10 s/,
  });
});

test("offers come cheapest first, those of an earlier candidate before where they are ordered", async (t) => {
  const offers = async ({ cpus }: Need): Promise<Offer[]> =>
    [3, 1, 2].map((dollars) => ({
      ...aCluster().offer,
      ...{ infra: `${cpus?.count}`, dollarsPerHour: dollars / (cpus?.count ?? 1) },
    }));
  const { ctx } = aWorld({ offers });
  const list = async (how: string) => {
    const task = readTask(`resources: {${how}: [{cpus: 1}, {cpus: 4}]}`, "launch");
    const { open } = await listOffers(ctx, { ...task, workspace: "default" }, t.signal);
    return open.map(({ dollarsPerHour }) => dollarsPerHour);
  };

  assert.deepEqual(await list("ordered"), [1, 2, 3, 0.25, 0.5, 0.75]);
  assert.deepEqual(await list("any_of"), [0.25, 0.5, 0.75, 1, 2, 3]);
});
