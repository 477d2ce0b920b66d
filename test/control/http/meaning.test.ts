import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import type { ErrorType } from "../../../common/errors.ts";
import { isRead, isStored } from "../../../common/operation.ts";
import { operations as rows } from "../../../contract/api.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { badTasks } from "./refused-cases.ts";

type Sent = [path: string, body: Readonly<Record<string, unknown>>];

interface Case {
  readonly send: Sent;
  readonly type: ErrorType;
  readonly says: RegExp;
}

const run = "run: 'true'";
const launch = (task: string, cluster_name = "demo"): Sent => ["/launch", { task, cluster_name }];
const exec = (task: string): Sent => ["/exec", { task, cluster_name: "demo" }];

/** Calls whose shape is right and whose meaning is not. */
const cases: Record<string, Case> = {
  "a pipeline": {
    send: launch("name: p\n---\nrun: a\n---\nrun: b"),
    type: "NotSupportedError",
    says: /^launch takes one task.*pipeline of 2; run it as a managed job/,
  },
  "a pipeline for exec": {
    send: exec("run: a\n---\nrun: b"),
    type: "NotSupportedError",
    says: /^exec takes one task/,
  },
  "a task that this version cannot run": {
    send: launch(`file_mounts: {/x: {name: set, mode: MOUNT}}\n${run}`),
    type: "NotSupportedError",
    says: /^line 1, column 15: file_mounts\["\/x"\]: is in a bucket that control keeps/,
  },
  "an image of machines, as existing clients write it": {
    send: launch(`resources: {image_id: {null: ami-1}, infra: aws/eu-west-1}\n${run}`),
    type: "NotSupportedError",
    says: /^line 1, column 13: resources\.image_id: this version does not support it \(other than `docker:IMAGE`\) yet/,
  },
  "a folder of the host as a volume": {
    send: launch(`volumes: {/data: {host_path: /mnt/data, mode: rw}}\n${run}`),
    type: "NotSupportedError",
    says: /^line 1, column 1: volumes: this version does not support it with `host_path` \(register/,
  },
  "a workspace that is not there": {
    send: ["/down", { cluster_name: "demo", override_skypilot_config: { active_workspace: "a" } }],
    type: "PermissionDeniedError",
    says: /^active_workspace: there is no workspace "a"; yours: default$/,
  },
  "files that did not come along": {
    send: launch(`workdir: /somewhere\n${run}`),
    type: "ValueError",
    says: /^workdir: \/somewhere was not uploaded; clients upload files before/,
  },
  "a service without a section of its own": {
    send: ["/serve/up", { task: run, service_name: "web" }],
    type: "ValueError",
    says: /^the task has no `service` section/,
  },
  "an operation that is not built": {
    send: ["/debug/dump_create", {}],
    type: "NotImplementedError",
    says: /^create_debug_dump is not built yet in this version$/,
  },
  "a volume that no provider here can make": {
    send: [
      "/volumes/apply",
      {
        name: "a",
        volume_type: "runpod-network-volume",
        cloud: "runpod",
        region: "US",
        zone: "CA-1",
        size: "10Gi",
      },
    ],
    type: "NotSupportedError",
    says: /^runpod-network-volume is a network volume of RunPod, and this control plane has no such provider; it makes volumes of the types folder, nfs, k8s-pvc$/,
  },
  "a log of a pool that cannot have it": {
    send: ["/jobs/pool_logs", { pool_name: "warm", target: "replica" }],
    type: "ValueError",
    says: /^worker_id is required for the target replica/,
  },
  "a log of which nobody can say whose it is": {
    send: ["/serve/logs", { service_name: "web", target: "replica" }],
    type: "ValueError",
    says: /^replica_id is required for the target replica/,
  },
};

for (const name of ["", "1a", "-a", "a-", "a b", "a/b", "../a", "ä", "a".repeat(121), "a\n"])
  cases[`the cluster name ${JSON.stringify(name.slice(0, 9))}`] = {
    send: launch(run, name),
    type: "InvalidClusterNameError",
    says: /cannot name a cluster: begin with a letter/,
  };

let world: World;
const finish: (() => Promise<void>)[] = [];
before(async () => {
  world = await testWorld({ after: (clean) => void finish.push(clean) });
});
after(async () => {
  for (const clean of finish) await clean();
});

const post = ([path, body]: Sent) => world.http("POST", path, { body });
const count = async (table: string) => {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(
    world.ctx.db,
  );
  return rows[0]?.n ?? 0;
};

const rowOf = ([path]: Sent) =>
  rows.find(({ route }) => route === `POST ${path}`) ?? assert.fail(`no row for ${path}`);

for (const [name, { send, type, says }] of Object.entries(cases))
  test(`stored as a request that has failed: ${name}`, async () => {
    const before = await count("requests");

    const answer = await post(send);
    const id = answer.headers["x-skypilot-request-id"];
    const record = await world.http("GET", `/api/get?request_id=${id}`);

    assert.equal(answer.status, 200, answer.text);
    assert.ok(["null", ""].includes(answer.text), "nothing but the id is answered");
    assert.equal(record.status, 500);
    assert.equal(record.json["status"], "FAILED");
    const error = JSON.parse(String(record.json["error"]));
    assert.equal(error.type, type);
    assert.match(error.message, says);
    assert.ok(error.object, "existing clients read the encoded error");
    assert.equal(await count("requests"), isRead(rowOf(send)) ? before : before + 1);
    assert.equal(await count("clusters"), 0);
    assert.equal(await count("services"), 0);
  });

test("no operation that stores its calls refuses one for its meaning by a status of HTTP", async () => {
  for (const row of rows.filter((row) => isStored(row) && !row.route.includes("{"))) {
    const [method = "", path = ""] = row.route.split(" ");
    const { status } = await world.http(method, path, method === "POST" ? { body: {} } : {});
    assert.ok([200, 422].includes(status), `${row.route} answers ${status}`);
  }
});

/** What /validate is asked before a launch. */
const asked = ([, { task: dag, cluster_name }]: Sent): Sent => {
  const options = { cluster_name, idle_minutes_to_autostop: null, down: false, dryrun: false };
  return ["/validate", { dag, request_options: options }];
};
/** What only a launch can know: that its tasks are for one cluster, and which files came along. */
const onlyLaunchKnows = ["a pipeline", "files that did not come along"];
const validated = [
  ...Object.entries(cases).filter(([, { send }]) => send[0] === "/launch"),
  ...Object.entries(badTasks).map(([name, bad]) => [name, { ...bad, send: launch(bad.task) }]),
] as [string, Pick<Case, "send" | "says">][];

for (const [name, { send, says }] of validated)
  test(`asked of /validate: ${name}`, async () => {
    const { status, text, json } = await post(asked(send));
    if (onlyLaunchKnows.includes(name)) return assert.equal(status, 200);

    assert.equal(status, 400, text);
    const { message, args, attributes } = json["detail"] as Record<string, string>;
    assert.match(message ?? "", says);
    assert.deepEqual([args, attributes], [[message], {}]);
  });

test("a log that is refused tells a client that does not follow why, as it asks for no result", async () => {
  const of = { pool_name: "warm", target: "replica" };
  const logs = (follow: boolean) => post(["/jobs/pool_logs", { ...of, follow }]);

  assert.equal((await logs(true)).text, "");
  assert.match((await logs(false)).text, /^worker_id is required for the target replica/);
});

test("a volume that is described wrongly is refused with all that is wrong with it", async () => {
  const fields = { name: "data", volume_type: "folder", config: { server: "nas" } };
  const { status, json } = await post(["/volumes/validate", fields]);

  assert.equal(status, 400);
  const { type, message } = json["detail"] as { type: string; message: string };
  assert.equal(type, "ValueError");
  assert.equal(
    message,
    "Invalid volumes config: infra: must be local, ssh/POOL/HOST or ssh/POOL; " +
      "config.server: is not for this type; known are host_path, cleanup_on_deletion",
  );
});
