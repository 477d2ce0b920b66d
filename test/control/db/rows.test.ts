import assert from "node:assert/strict";
import test from "node:test";
import { openDatabase } from "../../../control/db/open.ts";
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

test("what is found, changed and dropped has the values that are named", async (t) => {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  const rest = {
    status: "READY",
    reason: "",
    wanted: "UP",
    wanted_because: "",
    name: "a",
  } as const;
  const more = { ...rest, workspace: "w", host: "", port: 0, version: 1, scaling: "{}" };
  await db.transaction().execute(async (tx) => {
    const add = (id: string) =>
      rows.add(tx, { ...service, id }, { ...more, name: id, created_at: 0, status_changed_at: 0 });
    assert.deepEqual([await add("s1"), await add("s2"), await add("s1")], [true, true, false]);

    await rows.change(tx, { id: "s1", readyAt: null }, { problem: null, readyAt: 5 });
    await rows.change(tx, { id: "s2" }, {});
    assert.deepEqual(await rows.find(tx, { readyAt: 5 }), {
      ...{ ...service, problem: null, readyAt: 5 },
    });
    assert.deepEqual(await rows.find(tx, { readyAt: null, isPool: true }), {
      ...service,
      id: "s2",
    });

    await rows.drop(tx, { id: "s1" });
    assert.equal(await rows.find(tx, { id: "s1" }), undefined);
    assert.ok(await rows.find(tx, { id: "s2" }));
  });
});

test("changes of the same fields are built once", async (t) => {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());

  await db.transaction().execute(async (tx) => {
    const builds = t.mock.method(tx, "updateTable");
    for (const id of ["s1", "s2", "s3"]) await rows.change(tx, { id }, { readyAt: 1, problem });
    assert.equal(builds.mock.callCount(), 1);
  });
});

test("a value that is undefined finds, changes and drops nothing", async (t) => {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  const where = { id: undefined } as unknown as { id: string };
  const refused = { message: /which rows of services is not said: id/ };

  await db.transaction().execute(async (tx) => {
    await assert.rejects(rows.find(tx, where), refused);
    await assert.rejects(rows.change(tx, where, { readyAt: 1 }), refused);
    await assert.rejects(rows.drop(tx, where), refused);
    await assert.rejects(rows.drop(tx, {}), /is not said/);
  });
});

test("what was not read of a row is undefined", () => {
  const { problem, readyAt, ...item } = rows.toItem({ id: "s1", pool: 0 });

  assert.deepEqual([item.id, item.isPool, problem, readyAt], ["s1", false, undefined, undefined]);
});
