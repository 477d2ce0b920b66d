import assert from "node:assert/strict";
import { test } from "node:test";
import { userOperations as users } from "../../../contract/operations/users.ts";
import { workspaceOperations as rows } from "../../../contract/operations/workspaces.ts";
import { testWorld } from "../../helpers/world.ts";
import { workspaceBed } from "./bed.ts";

test("this machine's own user may prefer a workspace, and launches go there", async (t) => {
  const world = await testWorld(t);
  const ask = async (query = "") => (await world.http("GET", `/users/me/workspace${query}`)).json;
  const prefer = (preferred: string | null) =>
    world.http("POST", "/users/me/workspace", { body: { preferred } });
  const common = { note: null, preferred: null, read_only: [] };

  assert.deepEqual(await ask(), {
    ...common,
    ...{ workspace: "default", source: "single-membership", accessible: ["default"] },
  });
  await world.run(rows.create, { workspace_name: "research", config: {} });
  assert.deepEqual(await ask(), {
    ...common,
    ...{ workspace: "default", source: "default-fallback", accessible: ["default", "research"] },
  });
  assert.equal((await ask("?requested=research"))["source"], "explicit");
  const missing = await ask("?requested=team-a");
  assert.deepEqual([missing["workspace"], missing["source"]], [null, "permission-denied"]);
  assert.equal(missing["note"], 'there is no workspace "team-a"; yours: default, research');

  assert.equal((await prefer("team-a")).status, 403);
  assert.deepEqual((await prefer("research")).json, { preferred: "research" });
  const { preferred, source, workspace } = await ask();
  assert.deepEqual([preferred, source, workspace], ["research", "preferred", "research"]);
  await world.run(rows.create, { workspace_name: "other", config: {} });
  assert.deepEqual((await prefer(null)).json, { preferred: null });
  assert.equal((await ask())["workspace"], "default");
});

test("launches of members go where they may, and never to a workspace that is not theirs", async (t) => {
  const { create, person, world, admin } = await workspaceBed(t);
  const ann = await person("ann");
  const bob = await person("bob", { groups: ["lab"] });
  await create("research", { private: true, allowed_users: ["ann"] });
  await create("lab", { private: true, allowed_groups: ["lab"] });

  await assert.rejects(bob.launch("a", "research"), {
    message: 'active_workspace: there is no workspace "research"; yours: default, lab',
  });
  await assert.rejects(bob.run(users.preferWorkspace, { preferred: "research" }), { type: "403" });
  await ann.run(users.preferWorkspace, { preferred: "research" });
  await ann.launch("a");
  await bob.launch("b", "lab");

  assert.equal((await world.cluster("a")).workspace, "research");
  assert.equal((await world.cluster("b")).workspace, "lab");
  await admin.run(rows.update, {
    workspace_name: "default",
    config: { private: true, allowed_users: [] },
  });
  const alone = await bob.run(users.workspace, { requested: null });
  assert.deepEqual([alone.workspace, alone.source], ["lab", "single-membership"]);
});

test("who is in no workspace, or in several without a choice, is told what to do", async (t) => {
  const { create, person, admin } = await workspaceBed(t);
  const ann = await person("ann", { groups: ["a", "b"] });
  const bob = await person("bob");
  for (const name of ["a", "b"]) await create(name, { private: true, allowed_groups: [name] });
  await admin.run(rows.update, { workspace_name: "default", config: { private: true } });

  await assert.rejects(bob.launch("x"), { message: /^you are in no workspace; an administrator/ });
  await assert.rejects(ann.launch("x"), {
    message: "you are in several workspaces (a, b); choose one: outrigger workspaces use NAME",
  });
  const eve = await person("eve", { role: "viewer", groups: ["a"] });
  const { workspace, source, accessible, read_only } = await eve.run(users.workspace, {
    requested: null,
  });
  assert.deepEqual([workspace, source, accessible, read_only], ["a", "read-only", [], ["a"]]);
});

test("a service account is a member by its id, whatever name its creator gave it", async (t) => {
  const { create, person } = await workspaceBed(t);
  await person("ann");
  const twin = await person("0123456789abcdef", { kind: "sa", id: "sa-1123456789abcdef" });
  await person("ann-2", { id: "0123456789abcdef" });
  await create("research", { private: true, allowed_users: ["ann", "0123456789abcdef"] });

  await assert.rejects(twin.launch("a", "research"), { message: /no workspace "research"/ });
  await create("bots", { private: true, allowed_users: ["sa-1123456789abcdef"] });
  await twin.launch("a", "bots");
});
