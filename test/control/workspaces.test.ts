import assert from "node:assert/strict";
import { test } from "node:test";
import { UserWorkspace } from "../../contract/records/users.ts";
import { testWorld } from "../helpers/world.ts";

test("every launch goes to the only workspace, and another one cannot be chosen", async (t) => {
  const world = await testWorld(t);
  const ask = async (query = "") =>
    UserWorkspace.parse((await world.http("GET", `/users/me/workspace${query}`)).json);
  const prefer = (preferred: string | null) =>
    world.http("POST", "/users/me/workspace", { body: { preferred } });

  const { workspace, source, accessible } = await ask();
  assert.deepEqual([workspace, source, accessible], ["default", "single-membership", ["default"]]);
  assert.equal((await ask("?requested=default")).source, "explicit");
  const missing = await ask("?requested=team-a");
  assert.deepEqual([missing.workspace, missing.source], [null, null]);
  assert.equal(missing.note, "there is no workspace team-a; there is only one: default");

  for (const preferred of ["default", null])
    assert.deepEqual((await prefer(preferred)).json, { preferred });
  const refused = await prefer("team-a");
  assert.equal(refused.status, 403);
  assert.match(JSON.stringify(refused.json), /workspace team-a cannot be chosen/);
});
