import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as jobs } from "../../../contract/operations/jobs.ts";
import { poolOperations as pools } from "../../../contract/operations/pools.ts";
import { workspaceOperations as rows } from "../../../contract/operations/workspaces.ts";
import { workspaceBed } from "./bed.ts";

test("workspaces are created, changed and deleted, and each change is a version by its author", async (t) => {
  const { admin, create } = await workspaceBed(t);

  assert.deepEqual(await admin.run(rows.get, {}), { default: {} });
  await create("research", { limits: { clusters: 2 } });
  const changed = { workspace_name: "research", config: { limits: { clusters: 3 } } };
  assert.deepEqual(await admin.run(rows.update, changed), {
    default: {},
    research: { limits: { clusters: 3 } },
  });
  await admin.run(rows.update, changed);
  assert.deepEqual(await admin.run(rows.delete, { workspace_name: "research" }), { default: {} });

  const versions = await admin.run(rows.configHistory, {});
  assert.deepEqual(
    versions.map(({ version, user_name: name }) => [version, name]),
    [
      [3, "root"],
      [2, "root"],
      [1, "root"],
    ],
  );
});

const badNames = ["", "Research", "1st", "a-", "a b", "é", "a".repeat(64)];

test("what breaks the rule for names cannot name a workspace", async (t) => {
  const { create, admin } = await workspaceBed(t);
  const refusal = { type: "InvalidWorkspaceNameError", message: /cannot name a workspace: begin/ };

  for (const name of badNames) {
    await assert.rejects(create(name), refusal);
    const config = { workspaces: { default: {}, [name]: {} } };
    await assert.rejects(admin.run(rows.updateConfig, { config }), refusal);
  }
});

test("a name of 63 characters can name a workspace, once", async (t) => {
  const { create } = await workspaceBed(t);
  const name = "a".repeat(63);

  await create(name);

  await assert.rejects(create(name), {
    type: "ValueError",
    message: /^workspace a+ already exists; /,
  });
});

test("of two who create a workspace at once one is refused", async (t) => {
  const { create, admin } = await workspaceBed(t);

  const outcomes = await Promise.allSettled(
    ["a", "b"].map((user) => create("research", { allowed_groups: [user] })),
  );

  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  assert.equal((await admin.run(rows.configHistory, {})).length, 1);
});

test("the default workspace stays, and one that is not there cannot be changed", async (t) => {
  const { admin, create } = await workspaceBed(t);
  await create("research");
  const lost = { type: "ValueError", message: /no workspace "reserch"; did you mean `research`\?/ };

  await assert.rejects(admin.run(rows.delete, { workspace_name: "default" }), {
    type: "ValueError",
    message: "workspace default cannot be deleted",
  });
  await assert.rejects(admin.run(rows.updateConfig, { config: { workspaces: { research: {} } } }), {
    type: "ValueError",
    message: "workspaces: default is missing, and cannot be deleted",
  });
  await assert.rejects(admin.run(rows.delete, { workspace_name: "reserch" }), lost);
  await assert.rejects(admin.run(rows.update, { workspace_name: "reserch", config: {} }), lost);
});

test("a workspace with a managed job that waits is not deleted", async (t) => {
  const { admin, create, person, world } = await workspaceBed(t);
  const ann = await person("ann");
  await create("research");
  world.provider.offer = undefined;
  const input = { override_outrigger_config: { active_workspace: "research" } };
  await ann.run(jobs.launch, { task: "run: x", name: "train", ...input });

  await assert.rejects(admin.run(rows.delete, { workspace_name: "research" }), {
    message: "workspace research cannot be deleted while it is in use: managed jobs train (ann)",
  });
});

test("a workspace with a pool is not deleted", async (t) => {
  const { admin, create, person } = await workspaceBed(t);
  const ann = await person("ann");
  await create("research");
  const input = { override_outrigger_config: { active_workspace: "research" } };
  const task = "pool: {workers: 0}";
  await ann.run(pools.apply, { task, pool_name: "warm", mode: "rolling", ...input });

  await assert.rejects(admin.run(rows.delete, { workspace_name: "research" }), {
    message: "workspace research cannot be deleted while it is in use: pools warm (ann)",
  });
});

test("a workspace in use is not deleted, and says who uses it with what", async (t) => {
  const { admin, create, person, world } = await workspaceBed(t);
  const ann = await person("ann");
  await create("research");
  await ann.launch("dev", "research");
  const remove = () => admin.run(rows.delete, { workspace_name: "research" });

  await assert.rejects(remove(), {
    type: "ValueError",
    message: "workspace research cannot be deleted while it is in use: clusters dev (ann)",
  });
  await assert.rejects(admin.run(rows.updateConfig, { config: { workspaces: { default: {} } } }), {
    message: /cannot be deleted while it is in use/,
  });

  await ann.run(clusters.down, { cluster_name: "dev" });
  await world.untilStatus("dev", "GONE");
  await remove();
  await assert.rejects(ann.launch("dev", "research"), { message: /no workspace "research"/ });
});

test("while a workspace is in use only its members and what holds for new launches change", async (t) => {
  const { admin, create, person } = await workspaceBed(t);
  const ann = await person("ann");
  await person("bob");
  await create("research");
  await ann.launch("dev", "research");
  const update = (config: Record<string, unknown>) =>
    admin.run(rows.update, { workspace_name: "research", config });

  await assert.rejects(update({ aws: { disabled: true } }), {
    message: /can only change private, .*, limits while it is in use: clusters dev \(ann\)/,
  });
  for (const config of [{ private: true }, { private: true, allowed_users: ["bob"] }])
    await assert.rejects(update(config), {
      message: "workspace research would lock out users who use it: clusters dev (ann)",
    });
  await update({ private: true, allowed_users: ["ann", "bob"] });
  await update({ private: true, allowed_users: ["ann"], limits: { clusters: 1 } });
  await update({});
});

test("a launch and the deletion of its workspace do not both succeed", async (t) => {
  const { admin, create, person } = await workspaceBed(t);
  const ann = await person("ann");

  for (const round of [1, 2, 3, 4]) {
    const workspace = `w${round}`;
    await create(workspace);
    const [launched, deleted] = await Promise.allSettled([
      ann.launch(`c${round}`, workspace),
      admin.run(rows.delete, { workspace_name: workspace }),
    ]);

    assert.notEqual(launched.status, deleted.status);
    const names = Object.keys(await admin.run(rows.get, {}));
    assert.equal(names.includes(workspace), launched.status === "fulfilled");
  }
});

test("nobody who launches is shut out at the same moment", async (t) => {
  const { admin, create, person } = await workspaceBed(t);
  const ann = await person("ann");

  for (const round of [1, 2, 3, 4]) {
    const workspace = `w${round}`;
    await create(workspace);
    const [launched, shut] = await Promise.allSettled([
      ann.launch(`c${round}`, workspace),
      admin.run(rows.update, { workspace_name: workspace, config: { private: true } }),
    ]);

    assert.notEqual(launched.status, shut.status);
  }
});
