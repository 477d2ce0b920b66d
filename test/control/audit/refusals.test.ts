import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenOperations as tokens } from "../../../contract/operations/tokens.ts";
import { collectRefusals } from "../../../control/audit/collect.ts";
import { openRefusals } from "../../../control/audit/refusals.ts";
import { aLog } from "./log.ts";

function aCount() {
  const clock = { ms: Date.parse("2026-11-20T20:16:00Z") };
  const refusals = openRefusals(() => new Date(clock.ms));
  const admitted = (address: string, times: number) =>
    Array.from({ length: times }, () => refusals.admit(address)).filter(Boolean).length;
  return { clock, refusals, admitted };
}

/** That of forty refusals the log lists what a burst has, or a few more on a slow machine, and counts the rest. */
function assertCounted(listed: number, counted: string | null | undefined): void {
  assert.ok(listed >= 30 && listed < 40, `${listed} are listed`);
  assert.equal(counted, `${40 - listed} more refused calls`);
}

test("of a flood from one address thirty refusals are listed, and others' as well", () => {
  const { clock, admitted } = aCount();

  assert.equal(admitted("10.0.0.1", 5_000), 30);
  assert.equal(admitted("10.0.0.2", 1), 1);
  clock.ms += 60_000;
  assert.equal(admitted("10.0.0.1", 5_000), 30);
});

test("of a flood from many addresses three hundred are listed; a network of IPv6 is one address", () => {
  const { admitted } = aCount();
  const many = Array.from({ length: 100 }, (_, index) => admitted(`2001:db8::${index}`, 1));
  assert.equal(many.filter((count) => count > 0).length, 30);

  const more = Array.from({ length: 1_000 }, (_, index) =>
    admitted(`10.1.${index >> 8}.${index & 255}`, 1),
  );
  assert.equal(more.filter((count) => count > 0).length, 270);
});

test("what was left out is one entry a minute, with how many and from where", () => {
  const { clock, refusals, admitted } = aCount();
  admitted("10.0.0.1", 50);

  assert.deepEqual(refusals.takeLeftOutIfDue(), []);
  clock.ms += 60_000;
  const [entry] = refusals.takeLeftOutIfDue();

  assert.deepEqual(
    [entry?.operation, entry?.address, entry?.subject, entry?.reason],
    [
      "audit.left_out",
      "10.0.0.1",
      "20 more refused calls",
      "since 2026-11-20T20:16:00.000Z; at most 30 a minute from one address and 300 in all are listed",
    ],
  );
  assert.deepEqual(refusals.takeLeftOut(), []);
});

test("wrong credentials are listed with their address, and a flood of them does not fill the log", async (t) => {
  const log = await aLog(t, { config: { login: ["token"] } });
  const ann = await log.world.as("ann", { role: "admin" });
  const headers = { authorization: "Bearer sky_outrigger_guess" };

  for (let count = 0; count < 40; count += 1)
    await log.world.http("POST", "/stop", { headers, body: { cluster_name: "demo" } });
  await collectRefusals(log.world.ctx);
  const { entries } = (await ann.http("GET", "/audit?limit=1000")).json as {
    entries: Awaited<ReturnType<typeof log.list>>;
  };

  const [first, last] = [entries.at(-1), entries[0]];
  assert.deepEqual(
    [first?.operation, first?.outcome, first?.address, first?.user_name],
    ["stop", "refused", "a local socket", ""],
  );
  assert.match(first?.reason ?? "", /^unknown token/);
  assertCounted(entries.length - 1, last?.subject);
});

test("a flood of wrong passwords does not fill the log either, and names are one line", async (t) => {
  const log = await aLog(t, { config: { login: ["password"] } });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = "name=an%0Ann&password=guess";

  for (let count = 0; count < 40; count += 1)
    await log.world.http("POST", "/login", { headers, body });
  await collectRefusals(log.world.ctx);
  const entries = await log.world.ctx.db.selectFrom("audit").selectAll().execute();

  const [first, last] = [entries[0], entries.at(-1)];
  assert.deepEqual(
    [first?.operation, first?.outcome, first?.subject],
    ["login", "refused", "user an\\u000ann"],
  );
  assertCounted(entries.length - 1, last?.subject);
});

test("what its owner may do alone is refused to others, and listed once with the reason", async (t) => {
  const log = await aLog(t);
  const [ann, bob] = [await log.world.as("ann"), await log.world.as("bob")];
  await bob.http("GET", "/api/plugins");

  const { method, path } = { method: "POST", path: "/users/service-account-tokens/delete" };
  const answer = await ann.http(method, path, { body: { token_id: "token-bob" } });
  const entries = await log.list();

  assert.equal(answer.status, 403);
  assert.deepEqual(
    entries.map(({ user_name, operation, subject, outcome }) => [
      user_name,
      operation,
      subject,
      outcome,
    ]),
    [["ann", tokens.delete.name, "token token-bob (token of bob)", "refused"]],
  );
  assert.match(entries[0]?.reason ?? "", /belongs to bob/);
});

test("a workspace that is not the caller's is refused, and listed, also where a call only reads", async (t) => {
  const log = await aLog(t);
  const ann = await log.world.as("ann");
  const settings = { override_outrigger_config: { active_workspace: "secret-lab" } };

  await ann.http("POST", "/provision_logs", { body: { cluster_name: "demo", ...settings } });
  await ann.http("POST", "/status", { body: settings });
  await ann.http("POST", "/stop", { body: { cluster_name: "demo", ...settings } });

  assert.deepEqual(
    (await log.list()).map(({ operation, outcome }) => [operation, outcome]),
    [
      ["stop", "refused"],
      ["status", "refused"],
      ["provision_logs", "refused"],
    ],
  );
});
