import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import type { Answer } from "../../helpers/http-client.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { capCases } from "./cap-cases.ts";
import { type RefusedCase, refusedCases } from "./refused-cases.ts";
import { unknownCases } from "./unknown-cases.ts";

let world: World;
const finish: (() => Promise<void>)[] = [];
before(async () => {
  world = await testWorld({ after: (clean) => void finish.push(clean) });
});
after(async () => {
  for (const clean of finish) await clean();
});

const counts = async () => {
  const tables = ["requests", "clusters", "events", "usage_intervals"];
  const rows = tables.map((table) =>
    sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(world.ctx.db),
  );
  return (await Promise.all(rows)).map(({ rows: [row] }) => row?.n);
};

for (const [name, { send, status, loc, says }] of Object.entries({
  ...refusedCases,
  ...unknownCases,
  ...capCases,
}))
  test(`refused: ${name}`, async () => {
    const [method, path, body, headers = {}] = send;
    const answer = await world.http(method, path, { body, headers });

    assert.equal(answer.status, status, answer.text.slice(0, 500));
    assert.match(answer.text.replaceAll('\\"', '"'), says);
    checkShape(answer, loc);
    assert.deepEqual(await counts(), [0, 0, 0, 0], "something was stored");
    assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  });

function checkShape({ status, headers, json }: Answer, loc: RefusedCase["loc"]): void {
  assert.match(headers["x-outrigger-request-id"] ?? "", /^[\w-]{36}$/);
  assert.equal(headers["x-skypilot-request-id"], headers["x-outrigger-request-id"]);
  assert.ok(headers["x-skypilot-api-version"]);
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.match(headers["content-type"] ?? "", /^application\/json/);
  if (status !== 422) return;
  const [issue] = json["detail"] as { loc: unknown; msg: unknown; type: unknown }[];
  assert.equal(typeof issue?.msg, "string");
  assert.equal(typeof issue?.type, "string");
  if (loc !== undefined) assert.deepEqual(issue?.loc, loc);
}
