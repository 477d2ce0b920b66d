import assert from "node:assert/strict";
import { test } from "node:test";
import { workspaceOperations as rows } from "../../../contract/operations/workspaces.ts";
import { workspaceBed } from "./bed.ts";

test("of two who change the same version one is refused, and told of both versions", async (t) => {
  const { admin } = await workspaceBed(t);
  const config = await admin.run(rows.getConfig, {});
  assert.deepEqual(config, { version: 0, workspaces: { default: {} } });

  const outcomes = await Promise.allSettled(
    [1, 2].map((clusters) =>
      admin.run(rows.updateConfig, { config: { ...config, limits: { clusters } } }),
    ),
  );

  const [refused] = outcomes.filter((one) => one.status === "rejected");
  assert.equal(outcomes.filter((one) => one.status === "fulfilled").length, 1);
  assert.equal(refused?.reason.type, "ConflictError");
  assert.match(refused?.reason.message, /is at version 1, and this one was made from version 0;/);
  const { version } = await admin.run(rows.updateConfig, { config: { limits: {} } });
  assert.equal(version, 2);
});

test("secrets come back masked, and a mask keeps what was there", async (t) => {
  const { admin, world } = await workspaceBed(t);
  const docker = { registry: "https://ana:hunter2@r.lab", password: "hunter2", server: "r.lab" };
  await admin.run(rows.updateConfig, { config: { docker } });

  const shown = await admin.run(rows.getConfig, {});
  assert.deepEqual(shown["docker"], {
    registry: "[secret]",
    password: "[secret]",
    server: "r.lab",
  });
  const changed = { ...(shown["docker"] as object), server: "s.lab" };
  await admin.run(rows.updateConfig, { config: { ...shown, docker: changed } });

  const { document } = await world.ctx.configurations.current();
  assert.deepEqual((document as { docker?: unknown }).docker, { ...docker, server: "s.lab" });
  await assert.rejects(
    admin.run(rows.updateConfig, { config: { docker: { token: "[secret]" } } }),
    { type: "ValueError", message: /^docker\.token: \[secret\] keeps a secret, and there is none/ },
  );
  const stored = await world.ctx.db.selectFrom("configurations").select("document").execute();
  assert.ok(stored.every((row) => !Buffer.from(row.document).includes("hunter2")));
  assert.ok(world.logged.every((line) => !line.includes("hunter2")));
});

const wrong: readonly [config: Record<string, unknown>, says: string][] = [
  [{ limits: { clusers: 1 } }, "limits.clusers: unknown field `clusers`; did you mean `clusters`?"],
  [
    { workspaces: { default: { limts: {} } } },
    "workspaces.default.limts: unknown field `limts`; did you mean `limits`?",
  ],
  [
    { workspaces: { default: { ssh: { allowed_pools: [] } } } },
    "workspaces.default.ssh.allowed_pools: unknown field `allowed_pools`; expected one of disabled, capabilities, allowed_node_pools",
  ],
  [{ limits: { clusters: -1 } }, "limits.clusters: must be at least 0"],
  [
    { workspaces: { default: { private: "yes" } } },
    "workspaces.default.private: expected boolean, received string",
  ],
  [{ rbac: {} }, "rbac: unknown field `rbac`; set OUTRIGGER_DEFAULT_ROLE where control starts"],
  [{ allowed_infra: ["fak"] }, "allowed_infra[0]: there is no cloud fak; did you mean `fake`?"],
  [
    { resources: { cpus: "many", any_of: [] } },
    "resources.any_of: defaults cannot list alternatives; name one kind of machine",
  ],
  [{ resources: { cpu: 4 } }, "resources.cpu: unknown field `cpu`; did you mean `cpus`?"],
  [
    { workspaces: { default: { allowed_users: ["nobody"] } } },
    "workspaces.default.allowed_users[0]: there is no user nobody; ",
  ],
];

test("each thing that is wrong is named by its place, with what was meant", async (t) => {
  const { admin } = await workspaceBed(t);

  for (const [config, says] of wrong)
    await assert.rejects(admin.run(rows.updateConfig, { config }), ({ type, message }) => {
      assert.equal(type, "ValueError");
      assert.ok(message.includes(says), `${message} does not say: ${says}`);
      return true;
    });
  assert.equal((await admin.run(rows.getConfig, {}))["version"], 0);
});

test("what existing clients write and has no effect here is kept", async (t) => {
  const { admin } = await workspaceBed(t);
  const config = {
    jobs: { controller: { resources: { cpus: "4+" } } },
    kubernetes: { provision_timeout: 10, allowed_contexts: ["a"] },
    workspaces: { default: { gcp: { project_id: "p" }, kubernetes: { allowed_contexts: "all" } } },
  };

  assert.deepEqual(await admin.run(rows.updateConfig, { config }), { version: 1, ...config });
});

test("100 versions are kept", async (t) => {
  const { admin } = await workspaceBed(t);
  for (let clusters = 1; clusters <= 102; clusters += 1)
    await admin.run(rows.updateConfig, { config: { limits: { clusters } } });

  const versions = await admin.run(rows.configHistory, {});

  assert.deepEqual(
    [versions.length, versions[0]?.version, versions.at(-1)?.version],
    [100, 102, 3],
  );
});

test("the audit log has each change with the version that it made, and nothing of what is in it", async (t) => {
  const { admin, world } = await workspaceBed(t);
  await admin.run(rows.updateConfig, { config: { docker: { password: "hunter2" } } });

  const entries = await world.ctx.db.selectFrom("audit").selectAll().orderBy("seq").execute();

  const changes = entries.filter(({ operation }) => operation === rows.updateConfig.name);
  assert.deepEqual(
    changes.map(({ user_name: name, subject }) => [name, subject]),
    [
      ["root", null],
      ["root", "configuration 1"],
    ],
  );
  assert.equal(changes[0]?.request_id, changes[1]?.request_id);
  assert.ok(!JSON.stringify(entries).includes("hunter2"));
});

test("members see the workspaces that are theirs, and only administrators change any", async (t) => {
  const { admin, create, person } = await workspaceBed(t);
  const ann = await person("ann");
  const viewer = await person("eve", { role: "viewer" });
  await create("secret-lab", { private: true, allowed_groups: ["lab"] });
  await create("research", { private: true, allowed_users: ["ann"] });

  assert.deepEqual(Object.keys(await ann.run(rows.get, {})).sort(), ["default", "research"]);
  assert.deepEqual(Object.keys(await viewer.run(rows.get, {})), ["default"]);
  assert.doesNotMatch(JSON.stringify(await ann.run(rows.getConfig, {})), /secret-lab/);
  assert.match(JSON.stringify(await admin.run(rows.getConfig, {})), /secret-lab/);
  for (const [row, input] of [
    [rows.create, { workspace_name: "x", config: {} }],
    [rows.update, { workspace_name: "research", config: {} }],
    [rows.delete, { workspace_name: "research" }],
    [rows.updateConfig, { config: {} }],
    [rows.configHistory, {}],
  ] as const)
    await assert.rejects(ann.run(row as typeof rows.create, input as never), {
      message: /needs the role admin/,
    });
});
