import assert from "node:assert/strict";
import { test } from "node:test";
import { auditOperations } from "../../../contract/operations/audit.ts";
import type { AuditEntry } from "../../../contract/records/audit.ts";
import { testWorld, type World } from "../../helpers/world.ts";

const entriesOf = async ({ client }: World) =>
  (await client.send(auditOperations.list, {})).json["entries"] as AuditEntry[];

const times = <T>(count: number, once: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, once));

test("a user who calls too often is answered 429, with the time to wait, and others are not", async (t) => {
  const world = await testWorld(t, { config: { callsPerSecond: 0.5 } });
  const [ann, bob] = [await world.as("ann"), await world.as("bob")];
  const frozen = await times(6, () => ann.http("GET", "/api/plugins"));

  const refused = frozen.filter(({ status }) => status === 429);
  assert.equal(refused.length, 1);
  assert.equal(refused[0]?.headers["retry-after"], "2");
  assert.deepEqual(refused[0]?.json, {
    detail: "ann calls more often than 0.5 times a second; try again in 2 s",
    type: "RateLimitError",
  });
  assert.equal((await bob.http("GET", "/api/plugins")).status, 200);
  const [entry] = await entriesOf(world);
  assert.deepEqual([entry?.user_name, entry?.outcome], ["ann", "refused"]);

  world.advance(2_000);
  assert.equal((await ann.http("GET", "/api/plugins")).status, 200);
});

test("without the setting nobody calls too often", async (t) => {
  const world = await testWorld(t);
  const ann = await world.as("ann");

  const answers = await times(200, () => ann.http("GET", "/api/plugins"));

  assert.ok(answers.every(({ status }) => status === 200));
});

test("wrong credentials from one address are answered 429 in the end, and right ones never", async (t) => {
  const world = await testWorld(t, { config: { loginsPerMinute: 3, login: ["token"] } });
  const ann = await world.as("ann");
  const guess = () =>
    world.http("GET", "/api/plugins", {
      headers: { authorization: "Bearer sky_outrigger_guess" },
    });

  const answers = [];
  for (let count = 0; count < 5; count += 1) answers.push(await guess());

  assert.deepEqual(
    answers.map(({ status }) => status),
    [401, 401, 401, 429, 429],
  );
  assert.equal(answers[4]?.headers["retry-after"], "20");
  assert.equal((await ann.http("GET", "/api/plugins")).status, 200);
  world.advance(20_000);
  assert.equal((await guess()).status, 401);
});
