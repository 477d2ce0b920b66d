import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { nodeIdOf } from "../../../control/doors/node-id.ts";
import { bounded } from "../../../control/providers/bounded.ts";
import {
  type ClusterRef,
  meets,
  type Need,
  type Offer,
  type Provider,
} from "../../../control/providers/provider.ts";

/** A provider to be tested, with machines for two nodes. */
export interface Bed {
  readonly provider: Provider;
  /** Its nodes come and go together. */
  readonly isGang?: true;
  /** Has the provider fail from now on. */
  break(): Promise<void> | void;
}

type Open = (t: TestContext) => Promise<Bed>;

interface Given {
  readonly t: TestContext;
  readonly bed: Bed;
  readonly provider: Provider;
  readonly offer: Offer;
  readonly cluster: ClusterRef;
  /** The ranks and states of the nodes that there are. */
  nodes(): Promise<string[]>;
}

/** What every provider must do, as control uses it. A new provider has to pass this as well. */
export function testContract(name: string, open: Open, options: { skip?: string | false } = {}) {
  for (const [duty, check] of Object.entries(duties))
    test(`${name}: ${duty}`, options, async (t) => {
      const bed = await open(t);
      const provider = bounded(bed.provider, async () => {});
      const [offer] = await provider.offers({ nodes: 2 }, t.signal);
      assert.ok(offer, "there are machines for two nodes");
      const cluster: ClusterRef = {
        ...{ id: "c1", name: "demo", nodes: 2, offer },
        ...{ machine: {}, ports: [], labels: {}, user: { id: "u1", name: "ann" } },
      };
      const nodes = async () =>
        (await provider.list(cluster, t.signal)).map(({ rank, state }) => `${rank} ${state}`);
      await check({ t, bed, provider, offer, cluster, nodes });
    });
}

const destroyAll = async ({ t, provider, cluster }: Given) => {
  for (const rank of [0, 1]) await provider.destroy(nodeIdOf(cluster, rank), t.signal);
};

const duties: Readonly<Record<string, (given: Given) => Promise<void>>> = {
  "offers satisfy the need, cheapest first, and none where nothing does": async ({
    t,
    provider,
    offer,
  }) => {
    const need: Need = { infra: offer.infra, cpus: { count: 1, orMore: true }, nodes: 2 };
    const offers = await provider.offers(need, t.signal);
    const prices = offers.map(({ dollarsPerHour }) => dollarsPerHour);

    assert.ok(offers.length > 0 && offers.every((one) => meets(one, need)));
    assert.ok(offers.every((one) => one.provider === provider.name));
    assert.deepEqual(
      prices,
      prices.toSorted((a, b) => a - b),
    );
    const much: Need = { cpus: { count: 100_000, orMore: true } };
    assert.deepEqual(await provider.offers(much, t.signal), []);
    assert.deepEqual(await provider.offers({ infra: "nowhere/at/all" }, t.signal), []);
  },

  "a node that is created again is the same one, and the list is by rank": async (given) => {
    const { t, provider, cluster, nodes } = given;
    assert.deepEqual(await nodes(), []);

    for (const rank of [1, 0, 1]) await provider.create(cluster, rank, t.signal);

    assert.deepEqual(await nodes(), ["0 running", "1 running"]);
    const ids = (await provider.list(cluster, t.signal)).map(({ id }) => id);
    assert.deepEqual(ids, [nodeIdOf(cluster, 0), nodeIdOf(cluster, 1)]);
    assert.deepEqual(await provider.list({ ...cluster, id: "c2" }, t.signal), []);
    await destroyAll(given);
  },

  "to destroy what is gone, or never was, is a success": async (given) => {
    const { t, provider, cluster, nodes } = given;
    await destroyAll(given);
    await provider.create(cluster, 0, t.signal);

    await destroyAll(given);
    await destroyAll(given);

    assert.deepEqual(await nodes(), []);
  },

  "a node is stopped, also twice, and created again it is on": async (given) => {
    const { t, provider, cluster, nodes } = given;
    if (provider.stop === undefined) return t.skip("it cannot stop nodes");
    await provider.create(cluster, 0, t.signal);

    await provider.stop(nodeIdOf(cluster, 0), t.signal);
    await provider.stop(nodeIdOf(cluster, 0), t.signal);
    assert.ok((await nodes()).includes("0 stopped"));
    await provider.create(cluster, 0, t.signal);

    assert.ok((await nodes()).includes("0 running"));
    await destroyAll(given);
  },

  "nodes say which cluster they are of": async (given) => {
    const { t, bed, provider, cluster } = given;
    if (provider.find === undefined) return t.skip("it finds no nodes by itself");
    await provider.create(cluster, 0, t.signal);

    const found = await provider.find(t.signal);

    assert.deepEqual(
      found.map(({ id, state, cluster: of }) => [id, state, of?.name, of?.nodes]),
      (bed.isGang ? [0, 1] : [0]).map((rank) => [nodeIdOf(cluster, rank), "running", "demo", 2]),
    );
    await destroyAll(given);
    assert.deepEqual(await provider.find(t.signal), []);
  },

  "a call that was aborted makes nothing afterwards": async (given) => {
    const { t, bed, provider, cluster, nodes } = given;
    await assert.rejects(provider.create(cluster, 0, AbortSignal.abort()));
    assert.deepEqual(await nodes(), []);
    const ending = new AbortController();
    const creating = provider.create(cluster, 0, ending.signal);

    ending.abort();
    await Promise.allSettled([creating]);
    await destroyAll(given);

    assert.deepEqual(await nodes(), []);
    // What had still been under way would be there by the time another node has come and gone.
    await provider.create(cluster, 1, t.signal);
    assert.ok(bed.isGang || !(await nodes()).includes("0 running"));
    await destroyAll(given);
    assert.deepEqual(await nodes(), []);
  },

  "what it cannot do is an error of ours": async ({ t, bed, provider, cluster }) => {
    await bed.break();

    await assert.rejects(provider.create(cluster, 0, t.signal), (error) => {
      assert.ok(error instanceof AppError, String(error));
      assert.notEqual(error.type, "InternalError");
      return true;
    });
  },
};
