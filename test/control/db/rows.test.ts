import assert from "node:assert/strict";
import test from "node:test";
import { flag, json, named, rowsOf, user } from "../../../control/db/rows.ts";
import type { Service } from "../../../control/services/schema.ts";

const rows = rowsOf<Pick<Service, "id" | "isPool" | "user" | "problem" | "readyAt">>()(
  "services",
  ["id", "readyAt"],
  { isPool: named("pool", flag), user, problem: json },
);
const problem = { type: "CloudError", message: "full", details: {} };
const service = { id: "s1", isPool: true, user: { id: "u1", name: "ann" }, problem, readyAt: null };

test("an item comes back from its row as it was", () => {
  const row = rows.toRow(service);

  assert.deepEqual(row, {
    ...{ id: "s1", ready_at: null, pool: 1, user_id: "u1", user_name: "ann" },
    problem: JSON.stringify(problem),
  });
  assert.deepEqual(rows.columns.toSorted(), Object.keys(row).toSorted());
  assert.deepEqual(rows.toItem({ ...row, workspace: "default" }), service);
});

test("a change has the columns of what is given, null included", () => {
  assert.deepEqual(rows.toChange({ problem: null, readyAt: 5 }), { problem: null, ready_at: 5 });
  assert.deepEqual(rows.toChange({}), {});
});
