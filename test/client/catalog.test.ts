import assert from "node:assert/strict";
import { test } from "node:test";
import { cost } from "./answered-records.ts";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl } from "./fake-control.ts";
import { usual } from "./usual-routes.ts";

const machines = {
  H100: [
    ["lambda", "8x H100 SXM", "H100", 8, 208, 80, 1800, 31.92, null, "*"],
    ["aws", "p5.48xlarge", "H100", 8, 192, 80, 2048, 55.04, 20, "us-east-1"],
  ],
  L4: [["local", "local", "L4", 1, 8, null, 32, 0, null, "*"]],
};

test("gpus list shows counts and the least price, and machines for one accelerator", async (t) => {
  const control = await fakeControl(t, {
    "POST /list_accelerators": { result: machines },
    "GET /enabled_clouds": { result: ["local", "ssh/lab"] },
  });
  const outrigger = await commandLine(t, control.endpoint);

  const all = await outrigger(wordsOf("gpus list"));
  assert.match(all.stdout, /^H100 +80 GB +8 +20\.00 +lambda, aws$/m);
  assert.match(all.stderr, /^You can launch on local, ssh\/lab\. Other rows show prices only\.$/m);
  assert.match(all.stdout, /^L4 +- +1 +0\.00 +local$/m);

  const one = await outrigger(wordsOf("gpus list H1.0:8 --infra AWS/us-east-1 --all-regions"));
  assert.match(one.stdout, /^H100:8 .*aws\/us-east-1 +p5\.48xlarge .* 55\.04 +20\.00$/m);
  const { env_vars: _, ...asked } = control.to("POST /list_accelerators").at(-1)?.body ?? {};
  assert.deepEqual(
    [asked["name_filter"], asked["quantity_filter"], asked["clouds"], asked["region_filter"]],
    ["^H1\\.0", 8, "aws", "^(us\\-east\\-1|\\*)$"],
  );
  assert.equal(asked["all_regions"], true);

  const json = JSON.parse((await outrigger(wordsOf("gpus list -o json"))).stdout);
  assert.deepEqual(json[1], {
    ...{ accelerator: "H100", count: 8, memory_gb: 80, infra: "aws/us-east-1" },
    ...{ machine: "p5.48xlarge", cpus: 192, host_memory_gb: 2048 },
    ...{ usd_per_hour: 55.04, spot_usd_per_hour: 20 },
  });
});

test("gpus shows all infrastructure side by side, and who uses what", async (t) => {
  const cluster = (name: string, cloud: string, region: string | null, accelerators: object) => ({
    ...{ name, cloud, region, accelerators: JSON.stringify(accelerators) },
    ...{ status: "UP", nodes: 2, user_name: "ana" },
  });
  const clusters = [
    cluster("big", "kubernetes", "lab", { H100: 3 }),
    cluster("far", "aws", "us-east-1", { L4: 1 }),
    cluster("near", "local", null, { L4: 1 }),
    { ...cluster("off", "ssh", "mine", { H100: 1 }), status: "STOPPED" },
  ];
  const pods = ["lab", [["H100", [1, 2, 4, 8], 8, 2]]];
  const hosts = ["ssh-mine", [["H100", [1, 2], 2, 2]]];
  const { endpoint } = await fakeControl(t, {
    "POST /realtime_kubernetes_gpu_availability": { result: [pods, hosts] },
    "POST /slurm_gpu_availability": { result: [["hpc", [["A100", [1], 4, -1]], null]] },
    "POST /list_accelerator_counts": { result: { L4: [1, 2, 4] } },
    "POST /status": { result: clusters },
  });
  const { stdout } = await (await commandLine(t, endpoint))(["gpus"]);

  assert.deepEqual(
    stdout.split("\n").map((line) => line.split(/ {2,}/)),
    [
      ["INFRA", "GPU", "TOTAL", "FREE", "USED BY"],
      ["aws/us-east-1", "L4", "-", "-", "far (ana): 2"],
      ["kubernetes/lab", "H100", "8", "2", "big (ana): 6"],
      ["local", "L4", "4", "2", "near (ana): 2"],
      ["slurm/hpc", "A100", "4", "-", "-"],
      ["ssh/mine", "H100", "2", "2", "-"],
      [""],
    ],
  );
});

test("cost-report adds up by user, workspace or label, the dearest first", async (t) => {
  const rows = [
    { ...cost, total_cost: 1, labels: { team: "a" } },
    { ...cost, total_cost: 2, labels: { team: "b" }, num_nodes: 2, workspace: "lab" },
    { ...cost, total_cost: 0.5, labels: {} },
    { ...cost, total_cost: 4, labels: { team: "a" }, user_name: "ben" },
  ];
  const control = await fakeControl(t, { "POST /cost_report": { result: rows } });
  const outrigger = await commandLine(t, control.endpoint);
  const groups = async (by: string) => {
    const { stdout } = await outrigger(wordsOf(`cost-report --by ${by} -o json`));
    return JSON.parse(stdout).map((row: Record<string, unknown>) => [
      row["group"],
      row["cost_usd"],
    ]);
  };

  assert.deepEqual(await groups("label:team"), [
    ["a", 5],
    ["b", 2],
    [null, 0.5],
  ]);
  assert.deepEqual(await groups("workspace"), [
    ["default", 5.5],
    ["lab", 2],
  ]);
  assert.deepEqual(await groups("user"), [
    ["ben", 4],
    ["ana", 3.5],
  ]);
  const { stdout } = await outrigger(wordsOf("cost-report --by label:team"));
  assert.match(stdout, /^LABEL:TEAM +CLUSTERS +NODE TIME +COST\na +2 +2m .* \$5\.00$/m);
  assert.equal((await outrigger(wordsOf("cost-report --by team"))).code, 2);
});

test("a launch shows the candidates once: before its question, or as it goes", async (t) => {
  const table = "Candidates for any machine:\n  local\n";
  const launch = { log: table, result: { job_id: 1, handle: null } };
  const plan = { log: table, result: null };
  const routes = { ...usual, "POST /status": { result: [] }, "POST /optimize": plan };
  const asking = await fakeControl(t, routes);
  const typed = { typed: "y\n" };
  const asked = await (await commandLine(t, asking.endpoint))(wordsOf("launch -d -c dev x"), typed);
  assert.match(asked.stderr, /Candidates.*Launch a new cluster 'dev'\?/s);
  assert.equal(asking.to("POST /launch")[0]?.body["quiet_optimizer"], true);

  const plain = await fakeControl(t, { ...routes, "POST /launch": launch });
  const outrigger = await commandLine(t, plain.endpoint);
  const { stdout, stderr } = await outrigger(wordsOf("launch -y -d -c dev x -o json"));
  assert.match(stderr, /Candidates/);
  assert.equal(JSON.parse(stdout)[0].job_id, 1);
  assert.equal(plain.to("POST /launch")[0]?.body["quiet_optimizer"], false);
  assert.equal(plain.to("POST /optimize").length, 0);
});
