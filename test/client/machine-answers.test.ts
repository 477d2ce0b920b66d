import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { outputs } from "../../client/output/table.ts";
import {
  aSecret,
  aToken,
  cost,
  dev,
  entry,
  explanation,
  health,
  instant,
  job,
  orphan,
  pool,
  request,
  sending,
  since,
  use,
  verdict,
} from "./answered-records.ts";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";
import { aService } from "./services.ts";

const root = join(import.meta.dirname, "../..");
const read = (name: string) =>
  JSON.parse(readFileSync(join(root, `docs/schemas/${name}.json`), "utf8"));

const routes: Routes = {
  "GET /audit": sending({ entries: [entry] }),
  "GET /audit/verify": sending(verdict),
  "POST /status": { result: [dev] },
  "POST /endpoints": { result: { 8080: "10.0.0.1:8080" } },
  "POST /queue": { result: [job] },
  "POST /job_status": { result: { 1: "SUCCEEDED" } },
  "POST /cluster_events": {
    result: [
      { reason: "INIT → UP: every node runs", transitioned_at: since },
      { reason: "hook 1 of 1 (stop) failed", transitioned_at: since },
    ],
  },
  "POST /cost_report": { result: [cost] },
  "POST /check": { result: { default: { Local: ["compute"] } } },
  "POST /serve/status": { result: [aService()] },
  "GET /ssh_node_pools": sending({ lab: { hosts: ["a"] } }),
  "GET /ssh_node_pools/lab/status": sending(pool),
  "GET /ssh_node_pools/keys": sending(["id_ed25519"]),
  "DELETE /ssh_node_pools/lab": sending({ status: "success" }),
  "GET /workspaces": { result: { default: { private: true } } },
  "GET /workspaces/use": sending([use]),
  "GET /users/me/workspace": sending({ workspace: "default" }),
  "POST /users/me/workspace": sending({ preferred: "default" }),
  "GET /workspaces/config": { result: { version: 2, workspaces: {}, limits: { clusters: 1 } } },
  "POST /workspaces/config": { result: { version: 3 } },
  "GET /workspaces/config/history": sending([
    { version: 1, user_id: "u1", user_name: "ana", created_at: since },
  ]),
  "GET /api/status": sending([request]),
  "GET /explain": sending(explanation),
  "GET /orphans": sending([orphan]),
  "POST /orphans/adopt": sending(orphan),
  "GET /api/health": sending({ ...health, user: { id: "u1", name: "ana" } }),
  "GET /users": sending([
    { id: "u1", name: "ana", role: "admin", user_type: "basic", has_password: true, created_at: 0 },
  ]),
  "POST /users/create": sending(null),
  "POST /users/update": sending(null),
  "POST /users/delete": sending(null),
  "POST /users/import": sending({
    ...{ success_count: 1, error_count: 0, total_processed: 1 },
    ...{ parse_errors: [], creation_errors: [] },
  }),
  "GET /users/role": sending({ id: "u1", name: "ana", role: "admin" }),
  "GET /users/service-account-tokens": sending([aToken]),
  "POST /users/service-account-tokens": sending(aSecret),
  "POST /users/service-account-tokens/rotate": sending(aSecret),
  "POST /users/service-account-tokens/delete": sending({ message: "deleted" }),
  "POST /users/service-account-tokens/update-role": sending({}),
  "POST /users/service-account-tokens/get-role": sending({ roles: ["viewer"] }),
  "POST /launch": { result: { job_id: 1, handle: null } },
  "POST /exec": { result: { job_id: 2, handle: null } },
  "POST /serve/up": { result: ["chat", "http://127.0.0.1:30001"] },
  "POST /api/cancel": { result: ["r-1"] },
  ...Object.fromEntries(
    [
      ...["start", "stop", "down", "autostop", "cancel", "serve/update", "serve/down"],
      ...["workspaces/create", "workspaces/update", "workspaces/delete"],
      ...["serve/terminate-replica", "ssh_node_pools/deploy", "ssh_node_pools/down"],
    ].map((name) => [`POST /${name}`, {}]),
  ),
};

/** A line of each form, and a part of what it must print; several of those that are printed by several. */
const lines: readonly [string, string, unknown][] = [
  ["status", "clusters", [{ name: "dev", infra: "local/here", launched_at: instant }]],
  ["status --endpoints dev", "endpoints", [{ cluster: "dev", port: 8080 }]],
  ["queue dev", "jobs", [{ cluster: "dev", id: 1, started_at: instant, ended_at: null }]],
  ["logs --status dev", "job-statuses", [{ cluster: "dev", id: 1, status: "SUCCEEDED" }]],
  [
    "events dev",
    "events",
    [
      { at: instant, name: "dev", from: "INIT", to: "UP", reason: "every node runs" },
      { from: null, to: null, reason: "hook 1 of 1 (stop) failed" },
    ],
  ],
  ["explain dev", "explanation", { name: "dev", since: instant, attempt: { next_at: instant } }],
  ["context list", "contexts", [{ name: "default", current: true }]],
  ["config show", "settings", [{ origin: { kind: "default" } }]],
  ["cost-report", "costs", [{ name: "dev", duration_seconds: 60, cost_usd: 0.25 }]],
  ["check", "infra", [{ workspace: "default", infra: "local", capabilities: ["compute"] }]],
  ["serve status", "services", [{ name: "chat", replicas: [{ id: 1 }, { id: 2 }] }]],
  ["ssh status", "ssh-pools", [{ name: "lab", hosts: [{ name: "a" }] }]],
  ["ssh keys", "ssh-keys", [{ name: "id_ed25519" }]],
  ["api status", "requests", [{ id: "r-1", name: "launch", created_at: instant }]],
  ["api orphans", "orphans", [{ id: "o1", infra: "local" }]],
  ["api orphans --adopt o1", "orphans", [{ id: "o1" }]],
  ["audit", "audit", [{ seq: 7, at: instant, subject: "cluster dev" }]],
  ["audit --verify", "audit-verdict", { entries: 7, last_hash: "00ff", broken: null }],
  ["api info", "control-plane", { status: "healthy", api_version: 60, user: { id: "u1" } }],
  ["version", "version", {}],
  ["doctor", "findings", []],
  [
    "launch -c dev true",
    "actions",
    [{ action: "launch", name: "dev", outcome: "done", job_id: 1 }],
  ],
  ["launch -c dev --async true", "actions", [{ name: "dev", outcome: "submitted", job_id: null }]],
  ["exec dev true", "actions", [{ action: "exec", name: "dev", job_id: 2 }]],
  ["start dev", "actions", [{ action: "start", name: "dev" }]],
  ["stop dev", "actions", [{ action: "stop", name: "dev", outcome: "done" }]],
  ["down dev --async", "actions", [{ action: "down", name: "dev", outcome: "submitted" }]],
  ["autostop dev", "actions", [{ action: "autostop", name: "dev" }]],
  ["cancel dev 1", "actions", [{ action: "cancel", name: "dev", outcome: "unchanged" }]],
  ["api cancel r-1", "actions", [{ name: null, outcome: "done" }]],
  [
    "serve up -n chat chat.yaml",
    "actions",
    [{ action: "serve up", endpoint: "http://127.0.0.1:30001" }],
  ],
  ["serve update chat chat.yaml", "actions", [{ action: "serve update", name: "chat" }]],
  ["serve down chat", "actions", [{ action: "serve down", name: "chat" }]],
  ["ssh up lab", "actions", [{ action: "ssh up", name: "lab" }]],
  ["ssh down lab", "actions", [{ action: "ssh down", name: "lab" }]],
  ["ssh forget lab", "actions", [{ action: "ssh forget", name: "lab", request_id: null }]],
  [
    "context add prod --endpoint https://control.example",
    "actions",
    [{ action: "context add", name: "prod", outcome: "done" }],
  ],
  ["context use default", "actions", [{ action: "context use", name: "default" }]],
  ["context remove gone --ignore-not-found", "actions", []],
  ["whoami", "identity", { name: "ana", role: "admin" }],
  ["login --endpoint ENDPOINT", "actions", [{ outcome: "done" }]],
  ["logout", "actions", []],
  ["users list", "users", [{ name: "ana", login: "basic", has_password: true }]],
  ["users import users.csv", "user-import", { imported: 1, errors: [] }],
  ["users create ana --password-stdin", "actions", [{ action: "users create", name: "ana" }]],
  ["users update ana --role user", "actions", [{ action: "users update", name: "ana" }]],
  ["users delete -y ana", "actions", [{ action: "users delete", outcome: "done" }]],
  ["tokens list", "tokens", [{ name: "ci", role: "user", expires_at: "1970-01-02T00:00:00.000Z" }]],
  ["tokens create ci", "new-token", { name: "ci", token: "sky_outrigger_x" }],
  ["tokens rotate -y ci", "new-token", { name: "ci", token: "sky_outrigger_x" }],
  ["tokens role ci viewer", "token-role", { name: "ci", role: "viewer" }],
  ["tokens delete -y ci", "actions", [{ action: "tokens delete", name: "ci" }]],
  ["workspaces list", "workspaces", [{ name: "default", private: true, limits: { clusters: 4 } }]],
  ["workspaces create lab", "actions", [{ action: "workspaces create", name: "lab" }]],
  ["workspaces update lab --public", "actions", [{ action: "workspaces update", name: "lab" }]],
  ["workspaces delete lab", "actions", [{ action: "workspaces delete", name: "lab" }]],
  ["workspaces use lab", "actions", [{ action: "workspaces use", name: "lab" }]],
  ["api config", "configuration", { version: 2, limits: { clusters: 1 } }],
  ["api config history", "configuration-versions", [{ version: 1, created_at: instant }]],
  ["api config set -f chat.yaml", "actions", [{ action: "api config set", name: null }]],
];

/** Forms that other tests are about, as they are printed a line at a time. */
const elsewhere = ["error", "event", "log-line", "audit-entry"];

test("each form of JSON is tried", () => {
  const tried = new Set([...elsewhere, ...lines.map(([, name]) => name)]);
  assert.deepEqual(
    outputs.filter(({ name }) => !tried.has(name)),
    [],
  );
  const commands = outputs.find(({ name }) => name === "actions")?.printedBy ?? [];
  assert.deepEqual(
    commands.filter((name) => !lines.some(([line]) => `${line} `.startsWith(`${name} `))),
    [],
  );
});

for (const [line, name, part] of lines)
  test(`\`outrigger ${line} -o json\` prints what the schema of ${name} says`, async (t) => {
    const control = await fakeControl(t, routes);
    const outrigger = await commandLine(t, control.endpoint);
    const task = "service: {replicas: 1, readiness_probe: /}\nresources: {ports: 80}\nrun: serve\n";
    await writeFile(join(outrigger.folder, "chat.yaml"), task);
    await writeFile(join(outrigger.folder, "users.csv"), "username,password,role\n");

    const { code, stdout, stderr } = await outrigger([
      ...wordsOf(line.replace("ENDPOINT", control.endpoint)),
      ...["-o", "json"],
    ]);

    if (name !== "findings") assert.equal(code, 0, stderr);
    const printed = JSON.parse(stdout);
    z.fromJSONSchema(read(name)).parse(printed);
    assert.partialDeepStrictEqual(printed, part);
  });

test("--fields prints these alone, and names those that there are", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  const some = await outrigger(wordsOf("status --fields name,status"));
  const one = await outrigger(wordsOf("api info --fields endpoint"));
  const odd = await outrigger(wordsOf("queue dev --fields id,nme"));

  assert.deepEqual(JSON.parse(some.stdout), [{ name: "dev", status: "UP" }]);
  assert.deepEqual(JSON.parse(one.stdout), { endpoint: control.endpoint });
  assert.deepEqual([odd.code, odd.stdout], [2, ""]);
  assert.match(JSON.parse(odd.stderr).error.message, /no field nme; there are cluster, id, name/);
});

test("of several things that are done, each is told how it went", async (t) => {
  const two = { result: [dev, { ...dev, name: "dev-2" }] };
  const refused: Handler = ({ body }, res) => {
    if (body["cluster_name"] === "dev")
      return sendJson(res, 409, { detail: "not now", type: "ConflictError" });
    res.setHeader("x-skypilot-request-id", "r-2");
    sendJson(res, 200, null);
  };
  const get: Handler = ({ query }, res) => {
    const value = query.get("request_id") === "r-2" ? null : two.result;
    sendJson(res, 200, { return_value: JSON.stringify(value) });
  };
  const done = { "GET /api/get": get, "POST /stop": refused };
  const control = await fakeControl(t, { ...routes, "POST /status": two, ...done });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout, stderr } = await outrigger(wordsOf("stop dev dev-2 -o json"));

  assert.equal(code, 5, stderr);
  const printed = JSON.parse(stdout);
  z.fromJSONSchema(read("actions")).parse(printed);
  assert.partialDeepStrictEqual(printed, [
    { name: "dev-2", outcome: "done", request_id: "r-2" },
    { name: "dev", outcome: "failed", request_id: null, error: { code: "ConflictError" } },
  ]);
  assert.equal(JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "").error.code, "ConflictError");
});
