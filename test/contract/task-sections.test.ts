import assert from "node:assert/strict";
import { test } from "node:test";
import { fillTemplate } from "../../contract/task/substitution.ts";
import { readTask } from "../../contract/task.ts";
import { documentOf, taskOf } from "./task-cases.ts";

const serviceOf = (text: string) => taskOf(text).service ?? assert.fail("no service");

test("file mounts are paths, buckets or storage", () => {
  const { fileMounts } = taskOf(
    "file_mounts: {/a: ./x, /b: s3://bkt/key, /c: {name: my-bucket, source: [./x, ./y.txt], store: s3, mode: copy}, /d: {source: gs://bkt, persistent: false, _is_sky_managed: true}}",
  );
  const [c, d] = [fileMounts["/c"], fileMounts["/d"]];

  assert.deepEqual(fileMounts["/a"], { kind: "path", source: "./x" });
  assert.deepEqual(fileMounts["/b"], { kind: "bucket", uri: "s3://bkt/key" });
  assert.ok(c?.kind === "storage" && d?.kind === "storage");
  assert.deepEqual(c.storage.sources, ["./x", "./y.txt"]);
  assert.deepEqual([c.storage.store, c.storage.mode], ["S3", "COPY"]);
  assert.deepEqual([d.storage.mode, d.storage.persistent], ["MOUNT", false]);
});

test("a cached mount has options with defaults", () => {
  const mount = taskOf(
    "file_mounts: {/c: {name: bkt, mode: MOUNT_CACHED, type: DATASET_RO, config: {mount_cached: {transfers: 4, vfs_cache_max_age: 1h30m, read_only: true}}}}",
  ).fileMounts["/c"];

  assert.ok(mount?.kind === "storage");
  assert.equal(mount.storage.options.transfers, 4);
  assert.equal(mount.storage.options.cacheMaxSize, "10G");
  assert.equal(mount.storage.options.writeBack, "1s");
  assert.equal(mount.storage.options.readOnly, true);
});

test("volumes are named or live with the cluster", () => {
  const { volumes } = taskOf(
    "volumes: {/a: v1, /b/: {name: v2, sub_path: x/y}, /c: {size: 10Gi, type: k8s-pvc, labels: {a: b}, config: {storage_class_name: fast}}}",
  );

  assert.deepEqual(volumes["/a"], { kind: "named", name: "v1", subPath: undefined });
  assert.deepEqual(volumes["/b"], { kind: "named", name: "v2", subPath: "x/y" });
  assert.deepEqual(volumes["/c"], { kind: "ephemeral" });
});

test("the caller's values win, and stand for what is empty", () => {
  const text = "envs: {A:, B: doc}\nsecrets: {S:, T: doc}";
  const reading = readTask(text, {
    envs: { A: "1", B: "2", C: "3" },
    secrets: { S: "s", T: "t" },
  });
  const task = reading.ok ? reading.document.tasks[0] : assert.fail();

  assert.deepEqual(task?.envs, { A: "1", B: "2", C: "3" });
  assert.equal(task?.secrets["S"]?.reveal(), "s");
  assert.equal(task?.secrets["T"]?.reveal(), "t");
});

test("stored secrets are references in a mapping or a list", () => {
  const mixed = taskOf("secrets: {'secrets:STORED':, OWN: x}");

  assert.deepEqual(mixed.storedSecrets, ["STORED"]);
  assert.deepEqual(Object.keys(mixed.secrets), ["OWN"]);
  assert.deepEqual(taskOf("secrets: ['secrets:A', 'secrets:B']").storedSecrets, ["A", "B"]);
});

test("a task prints without its secrets", () => {
  const task = taskOf("secrets: {S: hunter2}\nservice: {ports: 80, auth: {api_key: $S}}");

  assert.equal(JSON.stringify(task).includes("hunter2"), false);
});

test("a registry login is complete in one section", () => {
  const names = ["USERNAME", "PASSWORD", "SERVER"];
  for (const prefix of ["SKYPILOT", "OUTRIGGER"]) {
    const lines = names.map((name) => `  ${prefix}_DOCKER_${name}: x`);
    taskOf(["envs:", ...lines].join("\n"));
    taskOf(["secrets:", ...lines].join("\n"));
  }
});

test("a service has defaults for everything but its port", () => {
  const service = serviceOf("service: {readiness_probe: /health}\nresources: {ports: 8080}");

  assert.equal(service.port, 8080);
  assert.equal(service.loadBalancing, "least_load");
  assert.equal(service.isolation, "auto");
  assert.deepEqual(service.update, { maxSurge: 1, maxUnavailable: 0 });
  assert.deepEqual([service.replicas.min, service.replicas.max], [1, 1]);
  assert.deepEqual(service.probe, {
    request: {
      template: { method: "GET", scheme: "http", path: "/health", headers: {}, body: undefined },
    },
    initialDelaySeconds: 1200,
    timeoutSeconds: 15,
    intervalSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
    failureWindowSeconds: 180,
    expectedStatus: [[200, 299]],
  });
});

test("a service of existing clients is read", () => {
  const service = serviceOf(
    "service: {readiness_probe: {path: /, initial_delay_seconds: 60, timeout_seconds: 5, post_data: {a: 1}}, replica_policy: {min_replicas: 2}, load_balancing_policy: Round_Robin, pool: false, ports: 80, tls: {keyfile: k, certfile: c}}",
  );

  assert.equal(service.probe.request.template.method, "POST");
  assert.deepEqual(service.probe.request.template.body, { a: 1 });
  assert.deepEqual([service.replicas.min, service.replicas.max], [2, 2]);
  assert.equal(service.loadBalancing, "round_robin");
  assert.deepEqual(service.tls?.template, { keyFile: "k", certFile: "c" });
});

test("a service says how replicas on one machine are kept apart", () => {
  assert.equal(serviceOf("service: {ports: 80, isolation: NetNS}").isolation, "netns");
});

test("a replica policy scales by requests, also by accelerator with dashes", () => {
  const service = serviceOf(
    "resources: {use_spot: true}\nservice: {ports: 80, load_balancing_policy: instance_aware_least_load, replica_policy: {min_replicas: 1, max_replicas: 3, target_qps_per_replica: {A100-80GB: 2.5}, base_ondemand_fallback_replicas: 1, spot_placer: dynamic_fallback}}",
  );

  assert.deepEqual(service.replicas.targetQps, { "A100-80GB": 2.5 });
  assert.equal(service.replicas.baseOndemandReplicas, 1);
  assert.equal(service.replicas.upscaleDelaySeconds, 300);
});

test("spot and on-demand candidates may mix with a fallback", () => {
  serviceOf(
    "resources: {any_of: [{use_spot: true}, {use_spot: false}]}\nservice: {ports: 80, replica_policy: {min_replicas: 1, dynamic_ondemand_fallback: true}}",
  );
});

test("a pool stands at the top or inside the service section", () => {
  const fixed = { minWorkers: 2, maxWorkers: 2, queueLengthThreshold: 1 };
  const delays = { upscaleDelaySeconds: 300, downscaleDelaySeconds: 1200 };

  assert.deepEqual(taskOf("pool: {workers: 2}").pool, { ...fixed, ...delays });
  const inside = taskOf("service: {pool: {min_workers: 2, max_workers: 2}}");
  assert.deepEqual(inside.pool, { ...fixed, ...delays });
  assert.equal(inside.service, undefined);
});

test("the run of a pool is ignored with a warning", () => {
  const [warning] = documentOf("pool: {workers: 1}\nrun: x").warnings;

  assert.deepEqual([warning?.line, warning?.field], [2, "run"]);
});

test("hooks are kept, cleared or set", () => {
  assert.equal(taskOf("config: {}").hooks, undefined);
  assert.deepEqual(taskOf("config: {hooks: []}").hooks, []);
  assert.deepEqual(
    taskOf("config: {hooks: [{run: a}, {run: b, events: [down], timeout: 5}]}").hooks,
    [
      { run: "a", events: ["stop", "preemption", "down"], timeoutSeconds: 3600 },
      { run: "b", events: ["down"], timeoutSeconds: 5 },
    ],
  );
});

test("hooks of the document win over those beside the resources", () => {
  const beside = "resources: {_cluster_config_overrides: {hooks: [{run: old}], docker: {a: 1}}}";

  assert.equal(taskOf(beside).hooks?.[0]?.run, "old");
  assert.deepEqual(taskOf(`${beside}\nconfig: {hooks: []}`).hooks, []);
  assert.deepEqual(taskOf(beside).config, { docker: { a: 1 } });
});

test("a script and a list of hooks may not exceed their limits", () => {
  const hooks = (count: number) => `config:\n  hooks:\n${"    - run: a\n".repeat(count)}`;
  const script = (bytes: number) => `config: {hooks: [{run: ${"a".repeat(bytes)}}]}`;

  assert.equal(readTask(hooks(32)).ok, true);
  assert.equal(readTask(hooks(33)).ok, false);
  assert.equal(readTask(script(16 * 1024)).ok, true);
  assert.equal(readTask(script(16 * 1024 + 1)).ok, false);
});

test("names are filled in where files, volumes and the work folder are named, nowhere else", () => {
  const task = taskOf(
    `name: n\nenvs: {B: bkt, V: vol}\nworkdir: \${B}/$X/$$B\nfile_mounts: {/$B: 's3://\${B}'}\nvolumes: {/v: $V}\nrun: echo $B\nsetup: $B`,
  );

  assert.deepEqual(task.workdir, { kind: "folder", path: "bkt/$X/$B" });
  assert.deepEqual(task.fileMounts, { "/bkt": { kind: "bucket", uri: "s3://bkt" } });
  assert.deepEqual(task.volumes["/v"], { kind: "named", name: "vol", subPath: undefined });
  assert.deepEqual([task.run, task.setup], ["echo $B", "$B"]);
});

test("a service keeps its secrets as references until they are filled in", () => {
  const text = [
    "envs: {MODEL: 'a\"$b', P: /health}",
    "secrets: {KEY: 'x\"$y'}",
    "service:",
    "  ports: 80",
    "  readiness_probe:",
    "    path: $P",
    `    headers: {Authorization: 'Bearer \${KEY}', Cost: '$5 $$KEY $OTHER'}`,
    '    post_data: \'{"model": "$MODEL", "key": "$KEY"}\'',
    "  auth: {api_key: $KEY}",
  ].join("\n");
  const { secrets, service } = taskOf(text);
  assert.ok(service?.auth);

  assert.equal(JSON.stringify(service).includes('x\\"'), false);
  assert.deepEqual(fillTemplate(service.auth, secrets), { apiKey: 'x"$y' });
  const { path, headers, body } = fillTemplate(service.probe.request, secrets);
  assert.equal(path, "/health");
  assert.deepEqual(headers, { Authorization: 'Bearer x"$y', Cost: "$5 $KEY $OTHER" });
  assert.deepEqual(body, { model: 'a"$b', key: 'x"$y' });
});

test("a stored secret stays a reference, and is missed when nobody gives it", () => {
  const { service } = taskOf(
    "secrets: ['secrets:KEY']\nservice: {ports: 80, auth: {api_key: $KEY}}",
  );
  assert.ok(service?.auth);
  const { auth } = service;

  assert.deepEqual(auth.template, { apiKey: `\${KEY}` });
  assert.throws(() => fillTemplate(auth, {}), { type: "ValueError" });
});
