import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { cloudOperations } from "../../../contract/operations/clouds.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { listEvents } from "../../../control/events.ts";
import type { ClusterRef, Offer } from "../../../control/providers/provider.ts";
import { testWorld, type World } from "../../helpers/world.ts";

const demo = { cluster_name: "demo", task: "run: echo hi" };
const pair = { ...demo, task: "num_nodes: 2\nrun: echo hi" };

const full = (refusal: string | undefined, message = "no capacity here") =>
  new AppError("ResourcesUnavailableError", message, { ...(refusal && { refusal }) });

/** A cloud with three zones, of which each later one is dearer. */
async function aWorld(t: Parameters<typeof testWorld>[0]): Promise<World> {
  const world = await testWorld(t);
  const { offer } = world.provider;
  assert.ok(offer);
  world.provider.offer = undefined;
  world.provider.otherOffers = ["c", "a", "b"].map(
    (zone): Offer => ({
      ...offer,
      ...{ infra: `fake/here/${zone}`, zone },
      dollarsPerHour: zone.charCodeAt(0),
    }),
  );
  return world;
}

const remarksOf = async ({ ctx, cluster }: World) => {
  const { id } = await cluster("demo");
  const events = await listEvents(ctx.db, "cluster", id, { kinds: ["remarks"], limit: 100 });
  return events.map(({ reason }) => reason);
};

test("a launch that one offer refuses goes on at the next, and says so", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full("capacity"));

  const id = await world.call(rows.launch, demo);
  await world.get(rows.launch, id);

  const { offer, placement, labels } = await world.cluster("demo");
  assert.deepEqual([offer.zone, placement, labels], ["b", null, {}]);
  const news = /^no machines at fake.here.a \(.*\): no capacity here; trying fake.here.b \(/;
  assert.ok((await remarksOf(world)).some((reason) => news.test(reason)));
  assert.match(await world.printed(id), /trying fake.here.b/);
});

test("a provider is told what a node boots, its disk, ports and labels, and whose it is", async (t) => {
  const world = await testWorld(t);
  const { create } = world.provider;
  const told: ClusterRef[] = [];
  const seen: typeof create = (cluster, rank, signal) => {
    told.push(cluster);
    return create(cluster, rank, signal);
  };
  Object.assign(world.provider, { create: seen });
  const resources = "{ports: [8080, 9000-9002], disk_size: 300, labels: {team: lab}}";

  await world.run(rows.launch, { ...demo, task: `resources: ${resources}\nrun: echo hi` });

  const [ref] = told;
  assert.deepEqual(ref?.machine, { diskGb: 300, reached: true });
  assert.deepEqual([ref?.ports, ref?.labels], [["8080", "9000-9002"], { team: "lab" }]);
  assert.ok(ref?.user.name);
});

test("what a registry asks for is told to each provider, sealed", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full("capacity"));
  const login = { USERNAME: "ann", PASSWORD: "hunter2", SERVER: "registry.lab" };
  const secrets = Object.entries(login).map(([part, value]) => [`OUTRIGGER_DOCKER_${part}`, value]);

  const task = JSON.stringify({ secrets: Object.fromEntries(secrets), run: "true" });
  await world.run(rows.launch, { ...demo, task });

  const { offer, machine } = await world.cluster("demo");
  assert.equal(offer.zone, "b");
  assert.doesNotMatch(JSON.stringify(machine), /hunter2/);
  assert.deepEqual(
    JSON.parse(world.ctx.seal.open(Buffer.from(machine.sealedLogin ?? "", "base64"))),
    {
      ...{ user: "ann", password: "hunter2", server: "registry.lab" },
    },
  );
});

test("nothing is left at an offer that refused one of the nodes", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full("capacity"), 1);

  await world.run(rows.launch, pair);

  assert.equal((await world.cluster("demo")).offer.zone, "b");
  const { calls } = world.provider;
  assert.deepEqual(calls.filter((call) => call === "destroy 0").length, 1);
  assert.ok(calls.lastIndexOf("create 0") > calls.indexOf("destroy 0"));
});

test("a refused offer is not asked again by others, but for fewer nodes", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full("capacity"));
  await world.run(rows.launch, pair);
  world.provider.refuses("fake/here/a", undefined);

  await world.run(rows.launch, { ...pair, cluster_name: "two" });
  await world.run(rows.launch, { ...demo, cluster_name: "one" });
  world.advance(61_000);
  await world.run(rows.launch, { ...pair, cluster_name: "later" });

  const zoneOf = async (name: string) => (await world.cluster(name)).offer.zone;
  assert.deepEqual(
    [await zoneOf("two"), await zoneOf("one"), await zoneOf("later")],
    ["b", "a", "a"],
  );
});

test("the check tells what is refused, and until when", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full("quota", "quota of 8 CPUs is used up"));
  await world.run(rows.launch, demo);

  const id = await world.call(cloudOperations.check, { clouds: null, workspace: null });
  await world.get(cloudOperations.check, id);

  assert.match(
    await world.printed(id),
    /^fake.here.a refused 1 node of small: quota of 8 CPUs is used up; retrying in (600|59\d) s$/m,
  );
});

test("a clock that is set back ends what was remembered", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full("capacity"));
  await world.run(rows.launch, demo);
  world.provider.refuses("fake/here/a", undefined);

  world.advance(-3_600_000);
  await world.run(rows.launch, { ...demo, cluster_name: "next" });

  assert.equal((await world.cluster("next")).offer.zone, "a");
});

test("a launch that every offer refuses names each, and leaves nothing", async (t) => {
  const world = await aWorld(t);
  for (const zone of ["a", "b", "c"])
    world.provider.refuses(`fake/here/${zone}`, full("capacity", `zone ${zone} is full`));

  await assert.rejects(world.run(rows.launch, demo), (error: AppError) => {
    assert.equal(error.type, "ResourcesUnavailableError");
    assert.match(
      error.message,
      /here.a \(.*\): zone a is full; .*zone b is full; .*zone c is full/,
    );
    const { refusals } = error.details as { refusals: string[] };
    assert.deepEqual(
      refusals.map((text) => text.split(": ").at(-1)),
      ["zone a is full", "zone b is full", "zone c is full"],
    );
    return true;
  });
  await world.untilStatus("demo", "GONE");
  // It is remembered: nobody is asked.
  const { length } = world.provider.calls;
  await assert.rejects(world.run(rows.launch, demo), { message: /zone a is full/ });
  assert.equal(world.provider.calls.length, length);
});

test("retry_until_up begins the list anew, whatever is remembered", async (t) => {
  const world = await aWorld(t);
  const zones = ["a", "b", "c"];
  for (const zone of zones) world.provider.refuses(`fake/here/${zone}`, full("request"));
  const launching = world.run(rows.launch, { ...demo, retry_until_up: true });
  await world.untilProblem("demo");

  world.provider.refuses("fake/here/b", undefined);
  await world.look("demo");

  assert.equal((await launching).job_id, 1);
  assert.equal((await world.cluster("demo")).offer.zone, "b");
  // Also where nothing else is left at the beginning.
  world.provider.refuses("fake/here/b", full("request"));
  const more = { ...demo, cluster_name: "more", retry_until_up: true };
  const another = world.run(rows.launch, more);
  await world.untilProblem("more");
  for (const zone of zones) world.provider.refuses(`fake/here/${zone}`, undefined);
  await world.look("more");
  await another;
});

test("a refusal of no known kind is forgotten with its launch", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full(undefined));
  await world.run(rows.launch, demo);
  world.provider.refuses("fake/here/a", undefined);

  await world.run(rows.launch, { ...demo, cluster_name: "next" });

  assert.equal((await world.cluster("next")).offer.zone, "a");
});

test("a cluster that was up stays where its disks are", async (t) => {
  const world = await aWorld(t);
  await world.run(rows.launch, demo);
  await world.run(rows.stop, demo);
  world.provider.refuses("fake/here/a", full("capacity"));

  await assert.rejects(world.run(rows.start, demo), { message: "no capacity here" });

  assert.equal((await world.cluster("demo")).offer.zone, "a");
});

test("a launch goes on at the next offer after a crash in between", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full("capacity"), 1);
  const release = world.provider.holds("destroy");
  const launch = await world.call(rows.launch, pair);
  await world.provider.held("destroy");

  const next = await world.crash();
  release();
  await next.get(rows.launch, launch);

  assert.equal((await next.cluster("demo")).offer.zone, "b");
  assert.equal(next.provider.machines.size, 2);
});

test("hooks are told the place where the cluster came to be", async (t) => {
  const world = await aWorld(t);
  world.provider.refuses("fake/here/a", full("capacity"));
  const task = "config: {hooks: [{run: 'true', events: [down]}]}\nrun: echo hi";

  await world.run(rows.launch, { ...demo, task });

  const { id } = await world.cluster("demo");
  const { hooks } = world.provider.agentOf(id).node;
  const place = Object.entries(hooks?.env ?? {}).find(([name]) =>
    name.endsWith("CLUSTER_INFO"),
  )?.[1];
  assert.equal(JSON.parse(place ?? "{}").zone, "b");
});
