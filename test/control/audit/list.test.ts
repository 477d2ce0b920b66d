import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { aLog } from "./log.ts";

test("the log lists who did what to what, from where and with what, newest first", async (t) => {
  const log = await aLog(t);
  const ann = await log.world.as("ann");

  const id = await ann.call(clusters.stop, { cluster_name: "demo" });
  await log.add([{ subject: "cluster other" }]);
  const [newest, stop] = await log.list();

  assert.equal(newest?.subject, "cluster other");
  const { seq, at, hash, ...shown } = stop ?? {};
  assert.deepEqual(shown, {
    ...{ user_id: "ann", user_name: "ann", credential: "token token of ann" },
    ...{ address: "a local socket", operation: "stop", subject: "cluster demo" },
    ...{ outcome: "allowed", reason: null, request_id: id },
  });
  assert.ok(Math.abs((at ?? 0) * 1_000 - Date.now()) < 60_000);
  assert.match(hash ?? "", /^[0-9a-f]{64}$/);
  assert.equal(seq, 1);
});

test("entries are chosen by user, operation and outcome, page by page, also where they are rare", async (t) => {
  const log = await aLog(t);
  const usual = Array.from({ length: 6_000 }, () => ({}));
  await log.add([
    ...[{ userId: "u7", userName: "bob", operation: "down" }, ...usual],
    ...[{ outcome: "refused" as const, reason: "no" }, { userName: "bob" }],
  ]);
  const seqs = async (input: Parameters<typeof log.list>[0]) =>
    (await log.list(input)).map(({ seq }) => seq);

  assert.deepEqual(await seqs({ user: "bob" }), [6_003, 1]);
  assert.deepEqual(await seqs({ user: "u7" }), [1]);
  assert.deepEqual(await seqs({ operation: "down" }), [1]);
  assert.deepEqual(await seqs({ refused: "true" }), [6_002]);
  assert.deepEqual(await seqs({ user: "bob", limit: "1" }), [6_003]);
  assert.deepEqual(await seqs({ user: "bob", before: "6003" }), [1]);
  assert.deepEqual(await seqs({ limit: "2", before: "3" }), [2, 1]);
  assert.deepEqual(await seqs({ user: "nobody" }), []);
});

test("only administrators read the log, and reading it is no entry", async (t) => {
  const log = await aLog(t);
  const ann = await log.world.as("ann");

  const refused = await ann.http("GET", "/audit");
  const entries = await log.list();

  assert.equal(refused.status, 403);
  assert.deepEqual(
    entries.map(({ user_name, operation, outcome }) => [user_name, operation, outcome]),
    [["ann", "audit.list", "refused"]],
  );
});

test("each text of an entry is one short line, whatever strangers send", async (t) => {
  const log = await aLog(t);
  const odd = "a\nb\u001b[2J\u202e";
  await log.add([
    { subject: `cluster ${"x".repeat(5_000)}` },
    { userName: odd, credential: odd, address: odd, subject: odd, reason: odd },
  ]);

  const [short, long] = await log.list();

  assert.equal(long?.subject?.length, 300);
  assert.ok(long?.subject?.endsWith("x…"));
  const { user_name, credential, address, subject, reason } = short ?? {};
  for (const text of [user_name, credential, address, subject, reason])
    assert.equal(text, "a\\u000ab\\u001b[2J\\u202e");
});
