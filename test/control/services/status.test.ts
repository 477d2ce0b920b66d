import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { serveOperations as rows } from "../../../contract/operations/serve.ts";
import { ServiceStatusRecord } from "../../../contract/records/services.ts";
import { until } from "../../helpers/agent.ts";
import { aTask, serviceBed, withService } from "./bed.ts";

test("the record of a service is what the contract says, whole", async (t) => {
  const bed = await withService(t);
  await bed.untilReady(1, 2);
  await bed.untilService("READY");
  await bed.look();

  const record = await bed.record();

  assert.deepEqual(ServiceStatusRecord.parse(record), record);
  const { replica_info, hash, uptime, endpoint, load_balancer_port, ...rest } = record;
  assert.equal(endpoint, `http://127.0.0.1:${load_balancer_port}`);
  assert.ok(Math.abs((uptime ?? 0) - Date.now() / 1000) < 60);
  assert.equal(hash, (await bed.service()).id);
  assert.deepEqual(rest, {
    name: "chat",
    controller_job_id: null,
    controller_port: null,
    status: "READY",
    policy: "Fixed-size (2 replicas)",
    version: 1,
    active_versions: [1],
    requested_resources_str: "any machine",
    load_balancing_policy: "least_load",
    tls_encrypted: false,
    pool: false,
    controller_pid: null,
    entrypoint: "",
    yaml_content: aTask(),
    pool_yaml: "",
    status_reason: "2 of 2 are ready",
    target_num_replicas: 2,
    max_replicas: 2,
    target_reason: "2 replicas are configured",
  });
  const [first] = replica_info;
  assert.deepEqual(first, {
    replica_id: 1,
    name: "chat-1",
    status: "READY",
    version: 1,
    replica_info_version: 1,
    endpoint: "http://10.0.0.0:8080",
    is_spot: false,
    launched_at: first?.launched_at,
    handle: null,
    status_reason: "it answers its probe",
    cloud: "fake",
    region: "here",
    infra: "fake/here",
    resources_str: first?.resources_str,
    resources_str_full: first?.resources_str,
  });
  assert.match(first?.resources_str ?? "", /^1x\(.*cpus=4/);
});

test("status shows the services whose names fit", async (t) => {
  const { world } = await serviceBed(t);
  for (const service_name of ["web-1", "web-2", "chat"])
    await world.run(rows.up, { task: aTask(), service_name });
  const named = async (service_names: string | string[] | null) =>
    (await world.run(rows.status, { service_names })).map(({ name }) => name).sort();

  assert.deepEqual(await named(null), ["chat", "web-1", "web-2"]);
  assert.deepEqual(await named("web-*"), ["web-1", "web-2"]);
  assert.deepEqual(await named(["chat", "nobody"]), ["chat"]);
});

test("a service says why it is what it is, from one reason to the next", async (t) => {
  const bed = await serviceBed(t, { usually: {} });
  const because = async () => {
    await bed.look();
    const { status, status_reason } = await bed.record();
    return `${status}: ${status_reason}`;
  };
  await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });
  await bed.untilReplica(1, "STARTING");
  const starting = await because();
  for (const number of [1, 2]) {
    bed.balancers.sees(number, { readiness: "ready" });
    await bed.untilReplica(number, "READY");
    const ready = await because();
    assert.equal(ready, `READY: ${number} of 2 are ready`);
  }

  assert.equal(starting, "REPLICA_INIT: no replica is ready yet");
  const moves = bed.world.logged.map((line) => JSON.parse(line)).filter(({ to }) => to === "READY");
  assert.equal(moves.filter(({ noun }) => noun === "service").length, 1, "one event a status");
});

test("a service says why there should be as many replicas as there should be", async (t) => {
  const policy = "replica_policy: {min_replicas: 0, max_replicas: 2, target_qps_per_replica: 1}";
  const bed = await withService(t, aTask().replace("replicas: 2", policy));
  await bed.untilService("NO_REPLICA");
  const none = await bed.record();
  bed.balancers.tells({ arrivals: Array(60).fill(2), open: 1 });
  await bed.untilReady(1, 2);

  assert.equal(none.target_reason, "the fewest of the 0 to 2 that are configured");
  assert.equal(none.status_reason, none.target_reason);
  assert.equal((await bed.record()).target_reason, "2.0 requests/s need 2 replicas at 1 each");
});

test("a replica that is not ready yet says what its probe says", async (t) => {
  const bed = await withService(t, aTask(), { usually: { problem: "503", failingSince: 1 } });

  await bed.untilReplica(1, "STARTING");
  const reason = await until(async () => {
    const [one] = (await bed.record()).replica_info;
    return one?.status_reason?.includes("last probe: 503") || undefined;
  });

  assert.equal(reason, true);
});

const key = "sk-live-0123456789";
const withKeys = `
name: chat
resources: {ports: 8080}
envs: {API_KEY: ${key}, KIND: a, TYPE: application/json}
secrets: {HF_TOKEN: hf-secret-value}
service:
  replicas: 1
  auth: {api_key: $API_KEY}
  readiness_probe:
    path: /health
    headers:
      Authorization: Bearer $API_KEY
      X-Token: $HF_TOKEN
      X-Short: a
      Content-Type: application/json
run: |
  echo a; serve --key ${key} --accept application/json
`;

test("no key of a probe or a sidecar is shown or written in clear, though it stands in envs", async (t) => {
  const bed = await serviceBed(t);
  await bed.world.run(rows.up, {
    task: withKeys,
    service_name: "chat",
    entrypoint_command: `serve up --env API_KEY=${key} --secret HF_TOKEN=hf-secret-value`,
  });
  await bed.untilReplica(1, "READY");
  const plan = bed.balancers.of("chat")[0]?.plans.at(-1);
  assert.equal(plan?.probes["1"]?.headers["Authorization"], `Bearer ${key}`, "the probe has it");
  assert.equal(plan?.probes["1"]?.headers["X-Token"], "hf-secret-value");
  const job = await bed.job(1);
  assert.equal(job.submission.sidecar?.key, key, "and so has the sidecar");

  bed.world.provider.agentOf((await bed.replica(1)).clusterId ?? "").print(1, `my key: ${key}\n`);
  bed.world.provider.agentOf((await bed.replica(1)).clusterId ?? "").end(1, "FAILED");
  const { reason } = await bed.untilReplica(1, "FAILED");
  assert.match(reason, /it printed last:\nmy key: \[secret\]/);

  const shown = JSON.stringify([
    await bed.record(),
    await bed.world.run(clusters.status, { cluster_names: ["chat-*"] }),
    await bed.world.run(clusters.costReport, {}),
    await bed.events(),
    bed.world.logged,
  ]);
  for (const secret of [key, "hf-secret-value"]) {
    assert.ok(!shown.includes(secret), secret);
    for (const [file, bytes] of filesOf(bed.world.home)) assert.ok(!bytes.includes(secret), file);
  }
});

test("the document is shown without keys, and otherwise as it was written", async (t) => {
  const bed = await withService(t, withKeys);

  const { yaml_content } = await bed.record();

  const shown = parse(yaml_content ?? "");
  const secret = "[secret]";
  assert.deepEqual(shown.envs, { API_KEY: secret, KIND: secret, TYPE: "application/json" });
  assert.deepEqual(shown.secrets, { HF_TOKEN: secret });
  assert.deepEqual(shown.service.auth, { api_key: secret });
  assert.deepEqual(shown.service.readiness_probe.headers, {
    Authorization: secret,
    "X-Token": secret,
    "X-Short": secret,
    "Content-Type": "application/json",
  });
  assert.equal(shown.run, "echo a; serve --key [secret] --accept application/json\n");
});

test("the copy of the document that existing clients send along shows no key either", async (t) => {
  const original = JSON.stringify(withKeys);
  const bed = await withService(t, `${withKeys}\n_user_specified_yaml: ${original}\n`);

  const { yaml_content } = await bed.record();

  assert.ok(!yaml_content?.includes(key));
  assert.ok(yaml_content?.includes("application/json"));
});

/** What stands in files, other than in copies of the logs of jobs, which show what a job printed. */
const filesOf = (folder: string): [string, Buffer][] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/-job\.log(\.part)?$/.test(entry.name))
    .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name))]);
