import assert from "node:assert/strict";
import { test } from "node:test";
import { expandPorts } from "../../contract/task/ports.ts";
import { documentOf, taskOf } from "./task-cases.ts";

const resourcesOf = (yaml: string) => taskOf(`resources: ${yaml}`).resources;
const first = (yaml: string) => resourcesOf(yaml).candidates[0] ?? assert.fail();
const kindsOf = (yaml: string) =>
  resourcesOf(yaml).candidates.map(({ accelerator }) => accelerator);
const named = (name: string, count = 1) => ({ by: "name", name, count });

test("what is left out is open or has its default", () => {
  const { candidates, ...rest } = resourcesOf("{}");

  assert.deepEqual(rest, {
    choose: "cheapest",
    priority: 0,
    autostop: undefined,
    jobRecovery: undefined,
    configOverrides: {},
  });
  assert.equal(candidates[0]?.diskGb, 256);
  assert.equal(candidates[0]?.diskTier, "medium");
  assert.equal(candidates[0]?.networkTier, "standard");
  assert.equal(candidates[0]?.cloud, undefined);
});

test("infra says where", () => {
  const cases: [string, (string | undefined)[]][] = [
    ["aws", ["aws", undefined, undefined]],
    ["AWS/us-east-1", ["aws", "us-east-1", undefined]],
    ["gcp/*/us-central1-a", ["gcp", undefined, "us-central1-a"]],
    ["'*'", [undefined, undefined, undefined]],
    ["'*/eu'", [undefined, "eu", undefined]],
    ["'*/*/eu-1a'", [undefined, undefined, "eu-1a"]],
    ["k8s", ["kubernetes", undefined, undefined]],
    ["k8s/arn:aws:eks:us/cluster/one", ["kubernetes", "arn:aws:eks:us/cluster/one", undefined]],
    ["ssh/my-pool", ["ssh", "my-pool", undefined]],
  ];
  for (const [infra, where] of cases) {
    const { cloud, region, zone } = first(`{infra: ${infra}}`);
    assert.deepEqual([cloud, region, zone], where, infra);
  }
  const { cloud, region, zone } = first("{cloud: K8s, region: r, zone: z}");
  assert.deepEqual([cloud, region, zone], ["kubernetes", "r", "z"]);
});

test("amounts have units and may mean at least", () => {
  assert.deepEqual(first("{cpus: 4}").cpus, { count: 4, orMore: false });
  assert.deepEqual(first("{cpus: 0.5+}").cpus, { count: 0.5, orMore: true });
  assert.equal(first("{cpus: 0, infra: slurm}").cpus?.count, 0);
  for (const [text, gb] of [
    ["16", 16],
    ["1.5", 1.5],
    ["512MB", 0.5],
    ["2Ti", 2048],
    ["1024Ki", 1 / 1024],
    ["8g", 8],
  ] as const)
    assert.deepEqual(first(`{memory: ${text}}`).memory, { gb, orMore: false }, text);
  assert.deepEqual(first("{memory: 16GB+}").memory, { gb: 16, orMore: true });
  assert.equal(first("{disk_size: 1TB}").diskGb, 1024);
  assert.equal(first("{ephemeral_storage: 10}").ephemeralStorageGb, 10);
  for (const text of ["nvme:500GB+", "SSD:1TB", "ssd", "200+", "200"])
    assert.equal(first(`{local_disk: ${text}}`).localDisk, text);
});

test("the region null of an image is any region, however it is spelled", () => {
  const container = { kind: "container", name: "ubuntu:24.04" };
  for (const key of ["null", "~", "NULL", "'null'"])
    assert.deepEqual(first(`{image_id: {${key}: 'docker:ubuntu:24.04'}}`).image, container, key);
  assert.deepEqual(first("{image_id: {null: ami-1}, infra: aws/eu-west-1}").image, {
    kind: "machine",
    id: "ami-1",
  });
  assert.deepEqual(first("{image_id: {null: a, us-east-1: b}, infra: aws/eu-west-1}").image, {
    kind: "machines",
    idByRegion: { null: "a", "us-east-1": "b" },
  });
});

test("accelerators of one kind", () => {
  assert.deepEqual(kindsOf("{accelerators: A100}"), [named("A100")]);
  assert.deepEqual(kindsOf("{gpus: 'A100-80GB:8'}"), [named("A100-80GB", 8)]);
  assert.deepEqual(kindsOf("{accelerators: A100:0.5}"), [named("A100", 0.5)]);
  assert.deepEqual(kindsOf("{accelerators: {tpu-v5e-8: 1}}"), [named("tpu-v5e-8")]);
  assert.deepEqual(kindsOf("{accelerators: 24GB+:2}"), [
    { by: "memory", gb: 24, orMore: true, manufacturer: undefined, count: 2 },
  ]);
  assert.deepEqual(kindsOf("{accelerators: nvidia:16GB}"), [
    { by: "memory", gb: 16, orMore: false, manufacturer: "nvidia", count: 1 },
  ]);
});

test("accelerators of several kinds are alternatives, a list has an order", () => {
  const both = [named("A100", 8), named("V100", 8)];
  for (const set of ["{A100: 8, V100: 8}", "{A100:8, V100:8}", "'{A100:8, V100:8}'"]) {
    assert.deepEqual(kindsOf(`{accelerators: ${set}}`), both, set);
    assert.equal(resourcesOf(`{accelerators: ${set}}`).choose, "cheapest");
  }
  assert.deepEqual(kindsOf("{accelerators: {L4, T4}}"), [named("L4"), named("T4")]);
  assert.deepEqual(kindsOf("{accelerators: [A100:8, V100:8]}"), both);
  assert.equal(resourcesOf("{accelerators: [A100:8, V100:8]}").choose, "inOrder");
});

test("ports are sorted, merged and canonical", () => {
  assert.deepEqual(first("{ports: 8080}").ports, ["8080"]);
  assert.deepEqual(first("{ports: [9000, '8000-8010', 8005-8020, 8021, '9000']}").ports, [
    "8000-8021",
    "9000",
  ]);
  assert.deepEqual(first("{ports:}").ports, []);
  assert.deepEqual(expandPorts(["80", "90-92"]), [80, 90, 91, 92]);
});

test("every form of autostop", () => {
  const autostopOf = (yaml: string) => resourcesOf(`{autostop: ${yaml}}`).autostop;
  const after = (idleMinutes: number) => ({
    idleMinutes,
    down: false,
    waitFor: "jobs_and_ssh",
    hook: undefined,
  });

  assert.equal(autostopOf("false"), "off");
  assert.equal(autostopOf("-1"), "off");
  assert.deepEqual(autostopOf("true"), after(5));
  assert.deepEqual(autostopOf("{}"), after(5));
  assert.deepEqual(autostopOf("0"), after(1));
  for (const [text, minutes] of [
    ["10", 10],
    ["10m", 10],
    ["2H", 120],
    ["1d", 1440],
    ["1w", 10_080],
  ] as const)
    assert.deepEqual(autostopOf(text), after(minutes), text);
  assert.deepEqual(autostopOf("{idle_minutes: 7, down: true, wait_for: JOBS}"), {
    idleMinutes: 7,
    down: true,
    waitFor: "jobs",
    hook: undefined,
  });
});

test("the older autostop.hook becomes a hook of the event that fires, with a warning", () => {
  for (const [down, event] of [
    ["true", "down"],
    ["false", "stop"],
  ] as const) {
    const text = `resources: {autostop: {idle_minutes: 5, down: ${down}, hook: ./save}}`;
    const document = documentOf(text);
    const autostop = document.tasks[0]?.resources.autostop;

    assert.deepEqual(autostop !== "off" && autostop?.hook, {
      run: "./save",
      events: [event],
      timeoutSeconds: 3600,
    });
    assert.match(document.warnings[0]?.message ?? "", /config\.hooks/);
  }
});

test("job recovery is a name or a mapping; its older name warns", () => {
  const none = { maxRestartsOnErrors: 0, recoverOnExitCodes: [], leaseSeconds: null };

  assert.deepEqual(resourcesOf("{job_recovery: failover}").jobRecovery, {
    ...none,
    strategy: "FAILOVER",
  });
  assert.deepEqual(
    resourcesOf(
      "{job_recovery: {max_restarts_on_errors: 2, recover_on_exit_codes: 33, lease: 10m}}",
    ).jobRecovery,
    {
      ...{ strategy: "EAGER_NEXT_REGION", maxRestartsOnErrors: 2, recoverOnExitCodes: [33] },
      leaseSeconds: 600,
    },
  );
  const older = documentOf("resources: {spot_recovery: none}");
  assert.equal(older.tasks[0]?.resources.jobRecovery?.strategy, "none");
  assert.equal(older.warnings.length, 1);
});

test("items take what they leave out from beside the list, and labels of both", () => {
  const { candidates, choose } = resourcesOf(
    "{cpus: 4+, labels: {a: x, b: y}, ordered: [{infra: aws, labels: {b: z}}, {infra: gcp, cpus: 2}]}",
  );

  assert.equal(choose, "inOrder");
  assert.deepEqual(
    candidates.map(({ cloud, cpus, labels }) => [cloud, cpus?.count, labels]),
    [
      ["aws", 4, { a: "x", b: "z" }],
      ["gcp", 2, { a: "x", b: "y" }],
    ],
  );
});

test("alternatives beside any_of multiply", () => {
  const { candidates, choose } = resourcesOf(
    "{accelerators: {A100, L4}, any_of: [{use_spot: true}, {use_spot: false, gpus: T4}]}",
  );

  assert.equal(choose, "cheapest");
  assert.deepEqual(
    candidates.map(({ accelerator, useSpot }) => [accelerator, useSpot]),
    [
      [named("A100"), true],
      [named("L4"), true],
      [named("T4"), false],
    ],
  );
});

test("images are containers, machine images, or machine images by region", () => {
  assert.deepEqual(first("{image_id: docker:ubuntu}").image, { kind: "container", name: "ubuntu" });
  for (const wrong of ["'docker:'", "docker:Bad Name", "docker:--privileged"])
    assert.throws(() => first(`{image_id: ${wrong}}`), /image_id: must be docker:IMAGE/, wrong);
  assert.deepEqual(first("{image_id: ami-1, infra: aws/us-east-1}").image, {
    kind: "machine",
    id: "ami-1",
  });
  assert.deepEqual(first("{image_id: skypilot:gpu, infra: aws}").image?.kind, "machine");
  assert.deepEqual(first("{image_id: {us-east-1: ami-1}, infra: aws}").image, {
    kind: "machines",
    idByRegion: { "us-east-1": "ami-1" },
  });
});

test("the rest of a candidate is read", () => {
  const request = first(
    "{instance_type: p4d, disk_tier: BEST, network_tier: best, max_hourly_cost: 3.5, priority: -5, priority_class: high, accelerator_args: {tpu_vm: off}, volumes: [{path: /a, name: d, disk_size: 10}]}",
  );

  assert.equal(request.instanceType, "p4d");
  assert.equal(request.diskTier, "best");
  assert.equal(request.networkTier, "best");
  assert.equal(request.maxDollarsPerHour, 3.5);
  assert.equal(request.priorityClass, "high");
  assert.equal(request.acceleratorArgs?.tpu_vm, false);
  assert.equal(request.networkDisks?.[0]?.disk_size, 10);
});
