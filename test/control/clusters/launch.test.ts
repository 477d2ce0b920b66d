import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { taskOperations as taskRows } from "../../../contract/operations/tasks.ts";
import { testWorld } from "../../helpers/world.ts";

const demo = { cluster_name: "demo", task: "run: echo hi" };
const noCapacity = new AppError("ResourcesUnavailableError", "no capacity here");

test("a launch makes a cluster, brings it up and runs its task", async (t) => {
  const world = await testWorld(t);

  const result = await world.run(rows.launch, demo);

  assert.equal(result.job_id, 1);
  assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
  const { id } = await world.cluster("demo");
  assert.equal(world.provider.agentOf(id).node.jobs[0]?.submission.run, "echo hi");
});

test("a launch prints its plan, how it goes and the id of its job", async (t) => {
  const world = await testWorld(t);

  const id = await world.call(rows.launch, demo);
  await world.get(rows.launch, id);

  const text = await world.printed(id);
  const lines = [/^Cluster demo: 1 node on fake/m, /node 0 runs/, /demo is UP/, /submitted, ID: 1/];
  for (const line of lines) assert.match(text, line);
});

for (const [resources, jobLimits, limits] of [
  ["{memory: 2, cpus: 1}", "memory", { memoryBytes: 2 ** 31 }],
  ["{memory: 2+, cpus: 1}", "memory", {}],
  ["{memory: 2, cpus: 1}", "all", { memoryBytes: 2 ** 31, cpus: 1 }],
  ["{memory: 2, cpus: 1+}", "none", {}],
] as const)
  test(`with limits for ${jobLimits}, ${resources} has so many`, async (t) => {
    const world = await testWorld(t);
    Object.assign(world.ctx.config, { jobLimits, jobProcesses: 100 });

    await world.run(rows.launch, { ...demo, task: `resources: ${resources}\nrun: 'true'` });

    const { id } = await world.cluster("demo");
    const { logBytes = 0, ...rest } =
      world.provider.agentOf(id).node.jobs[0]?.submission.limits ?? {};
    assert.equal(logBytes, 2 ** 30);
    assert.deepEqual(rest, { ...limits, processes: 100 });
  });

test("two launches of one name at once make one cluster and two jobs", async (t) => {
  const world = await testWorld(t);

  const results = await Promise.all([world.run(rows.launch, demo), world.run(rows.launch, demo)]);

  assert.deepEqual(results.map((result) => result.job_id).toSorted(), [1, 2]);
  assert.deepEqual(world.provider.calls, ["create 0"]);
  assert.equal((await world.run(rows.status, {})).length, 1);
});

test("what makes no difference here is named, also on a cluster that is there", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  const task = "resources: {disk_size: 10, use_spot: true}\nrun: 'true'";

  for (const row of [rows.launch, rows.exec]) {
    const id = await world.call(row, { ...demo, task });
    await world.get(row, id).catch(() => {});
    const printed = await world.printed(id);
    assert.match(printed, /^no effect here: resources.use_spot, resources.disk_size$/m);
  }
});

test("a task that asks for spot gets it where a provider has such machines, and is not told otherwise", async (t) => {
  const world = await testWorld(t, { hasSpot: true });
  const task = "resources: {use_spot: true, ephemeral_storage: 9}\nrun: 'true'";

  const id = await world.call(rows.launch, { ...demo, task });
  await world.get(rows.launch, id);

  const { offer, machine } = await world.cluster("demo");
  assert.deepEqual([offer.isSpot, machine.ephemeralStorageGb], [true, 9]);
  assert.doesNotMatch(await world.printed(id), /no effect here/);
  await world.run(rows.launch, { ...demo, cluster_name: "other" });
  assert.equal((await world.cluster("other")).offer.isSpot, undefined);
});

test("a task that fits nothing is told what there is", async (t) => {
  const world = await testWorld(t);

  await assert.rejects(
    world.run(rows.launch, { ...demo, task: "resources: {accelerators: B200:8}\nrun: 'true'" }),
    { type: "ResourcesUnavailableError", message: /nothing offers B200:8; there is: fake/ },
  );

  await assert.rejects(
    world.run(rows.launch, { ...demo, task: "resources: {infra: ssh/lab}\nrun: 'true'" }),
    {
      message: /nothing offers infra ssh\/lab; .*; the state of hosts: outrigger ssh status/,
    },
  );
  assert.deepEqual(await world.run(rows.status, {}), []);
});

/** What `infra` is asked for, and what is said at the end besides what there is. */
const nowhere: readonly [string, RegExp][] = [
  ["fkae", /there is: fake \([^()]*\); did you mean `fake`\?$/],
  ["fake/lba", /did you mean `fake\/lab`\?$/],
  ["elsewhere", /there is: fake \([^()]*\)$/],
  ["fake/lab", /there is: fake \([^()]*\)$/],
  ["ssh/other", /; the state of hosts: outrigger ssh status$/],
];

for (const [infra, message] of nowhere)
  test(`whoever asks for machines of ${infra} is told what may help`, async (t) => {
    const world = await testWorld(t);
    Object.assign(world.provider, { places: async () => ["fake", "fake/lab", "fake/lab2"] });

    const task = `resources: {infra: ${infra}}\nrun: 'true'`;
    await assert.rejects(world.run(rows.launch, { ...demo, task }), { message });
  });

test("the plan of a service tells how many replicas there are to be", async (t) => {
  const world = await testWorld(t);
  const plan = async (service: string) => {
    const dag = `{name: chat, resources: {ports: 80}, run: serve, service: {readiness_probe: /, ${service}}}`;
    return world.printed(await world.call(taskRows.optimize, { dag, request_options: null }));
  };

  assert.match(await plan("replicas: 2"), /^chat: 2 replicas, each 1 × fake .* an hour$/m);
  const policy = "replica_policy: {min_replicas: 0, max_replicas: 1, target_qps_per_replica: 1}";
  assert.match(await plan(policy), /^chat: 0 to 1 replicas, each/m);
});

test("a dry run plans and makes nothing", async (t) => {
  const world = await testWorld(t);

  const id = await world.call(rows.launch, { ...demo, dryrun: true });
  const result = await world.get(rows.launch, id);

  assert.equal(result.job_id, null);
  assert.match(await world.printed(id), /^Cluster demo: 1 node on fake/m);
  assert.deepEqual(world.provider.calls, []);
  assert.deepEqual(await world.run(rows.status, {}), []);
});

test("a cluster that cannot be had is removed, and the launch says why", async (t) => {
  const world = await testWorld(t);
  world.provider.fails("create", noCapacity);

  await assert.rejects(world.run(rows.launch, demo), {
    type: "ResourcesUnavailableError",
    message: /^no offer is left for any machine: fake \(.*\): no capacity here; retry/,
  });

  await world.untilStatus("demo", "GONE");
});

test("retry_until_up tries until there is capacity", async (t) => {
  const world = await testWorld(t);
  world.provider.fails("create", noCapacity);
  const launching = world.run(rows.launch, { ...demo, retry_until_up: true });
  await world.untilProblem("demo");

  world.provider.fails("create", undefined);
  await world.look("demo");

  assert.equal((await launching).job_id, 1);
});

test("a cluster that was there before is kept when its start fails", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  await world.run(rows.stop, demo);
  world.provider.fails("create", noCapacity);

  await assert.rejects(world.run(rows.launch, demo), { type: "ResourcesUnavailableError" });

  assert.equal((await world.cluster("demo")).status, "INIT");
  world.provider.fails("create", undefined);
  assert.equal((await world.run(rows.launch, demo)).job_id, 2);
});

test("a launch on a stopped cluster starts it", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  await world.run(rows.stop, demo);

  await world.run(rows.launch, demo);

  assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>STOPPED", "STOPPED>INIT", "INIT>UP"]);
});

test("a launch waits for a cluster that is being taken down, then makes a new one", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  const before = await world.cluster("demo");
  const release = world.provider.holds("destroy");
  const going = world.run(rows.down, demo);
  await world.provider.held("destroy");

  const id = await world.call(rows.launch, demo);
  await world.untilNote(id, /waits until cluster demo is taken down \(down by local\)/);
  release();
  await going;
  await world.get(rows.launch, id);

  assert.notEqual((await world.cluster("demo")).id, before.id);
});

test("a launch says why when the cluster it waits for cannot be taken down", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  world.provider.fails("destroy", new AppError("CloudError", "the cloud is closed"));
  await assert.rejects(world.run(rows.down, demo), { type: "CloudError" });

  await assert.rejects(world.run(rows.launch, demo), {
    type: "CloudError",
    message: /the cloud is closed/,
  });

  world.provider.fails("destroy", undefined);
});

test("a launch waits for a cluster that stops by itself", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...demo, idle_minutes_to_autostop: 5 });
  const { id } = await world.cluster("demo");
  const release = world.provider.holds("stop");
  world.provider.agentOf(id).becomeIdle();
  await world.untilStatus("demo", "AUTOSTOPPING");

  const launch = await world.call(rows.launch, demo);
  await world.untilNote(launch, /waits until cluster demo is stopped \(idle for 5 min\)/);
  release();
  await world.get(rows.launch, launch);

  assert.deepEqual((await world.moves("demo")).slice(1), [
    "UP>AUTOSTOPPING",
    "AUTOSTOPPING>STOPPED",
    "STOPPED>INIT",
    "INIT>UP",
  ]);
});

test("a cluster taken down while it is launched ends the launch", async (t) => {
  const world = await testWorld(t);
  world.provider.agentsStart = false;
  const refused = assert.rejects(world.run(rows.launch, demo), {
    type: "ClusterNotUpError",
    message: /being taken down meanwhile \(down by local\)/,
  });
  await world.provider.created(0);

  await world.run(rows.down, demo);

  await refused;
  assert.equal((await world.cluster("demo")).status, "GONE");
  assert.deepEqual([...world.provider.machines], []);
});

test("a cluster stopped while it is launched ends the launch and is stopped", async (t) => {
  const world = await testWorld(t);
  world.provider.agentsStart = false;
  const refused = assert.rejects(world.run(rows.launch, demo), { type: "ClusterNotUpError" });
  await world.provider.created(0);

  await world.run(rows.stop, demo);

  await refused;
  assert.equal((await world.cluster("demo")).status, "STOPPED");
});

test("what failed while nobody wants it any more is not told to whoever wants something else", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const refused = assert.rejects(world.run(rows.launch, demo), { type: "ClusterNotUpError" });
  await world.provider.held("create");
  const going = world.run(rows.down, demo);
  await refused;

  world.provider.fails("create", noCapacity);
  release();

  await going;
  assert.equal((await world.cluster("demo")).status, "GONE");
});

test("a task without anything to run leaves a cluster without a job", async (t) => {
  const world = await testWorld(t);

  const result = await world.run(rows.launch, { ...demo, task: "resources: {cpus: 2}" });

  assert.equal(result.job_id, null);
  assert.equal((await world.cluster("demo")).status, "UP");
});
