import assert from "node:assert/strict";
import { StatementSync } from "node:sqlite";
import { test } from "node:test";
import { addCaller } from "../../helpers/users.ts";
import { testWorld } from "../../helpers/world.ts";

const aboutCallers = /from "(users|tokens|sessions|configurations|local_preference)"/;

test("to know who calls takes one look at the database, and none for this machine's own user", async (t) => {
  const own = await testWorld(t);
  const shared = await testWorld(t, { config: { login: ["token"] } });
  const ann = await addCaller(shared.ctx, { name: "ann" });
  const looks = t.mock.method(StatementSync.prototype, "all");

  const looksOf = async (call: Promise<{ status: number }>) => {
    looks.mock.resetCalls();
    assert.equal((await call).status, 200);
    const texts = looks.mock.calls.map((call) => (call.this as StatementSync).sourceSQL);
    return texts.filter((text) => aboutCallers.test(text)).length;
  };

  assert.equal(await looksOf(own.http("GET", "/api/plugins")), 0);
  assert.equal(await looksOf(shared.http("GET", "/api/plugins", { headers: ann })), 1);
});
