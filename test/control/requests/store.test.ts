import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { requestMachine } from "../../../contract/statuses.ts";
import { type Connection, openDatabase } from "../../../control/db/open.ts";
import type { Ending } from "../../../control/requests/schema.ts";
import { addRequest, findRequest, setEnded, setRunning } from "../../../control/requests/store.ts";
import { writable } from "../../helpers/writable.ts";

const endings: Ending[] = [
  { status: "SUCCEEDED", returnValue: "null" },
  { status: "FAILED", failure: { type: "ValueError", message: "no", details: {} } },
  { status: "CANCELLED" },
];

async function anOpenDatabase(t: TestContext): Promise<Connection> {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  return writable({ db });
}

test("a request ends only as its machine allows", async (t) => {
  const db = await anOpenDatabase(t);
  for (const from of requestMachine.names)
    for (const ending of endings) {
      const id = `${from}>${ending.status}`;
      await addRequest(db, aRequest(id));
      await db.updateTable("requests").set({ status: from }).where("id", "=", id).execute();

      const ended = await setEnded(db, id, ending, 2);

      assert.equal(ended, requestMachine.allows(from, ending.status), id);
      const status = ended ? ending.status : from;
      assert.equal((await findRequest(db, id))?.status, status, id);
    }
});

test("a request begins once more after a restart, but never after its end", async (t) => {
  const db = await anOpenDatabase(t);
  await addRequest(db, aRequest("a"));

  assert.ok(await setRunning(db, "a"));
  assert.ok(await setRunning(db, "a"));
  await setEnded(db, "a", { status: "CANCELLED" }, 2);
  assert.ok(!(await setRunning(db, "a")));
});

const aRequest = (id: string) => ({
  id,
  name: "status",
  queue: "short" as const,
  userId: "u1",
  userName: "ann",
  clusterName: null,
  clientApi: null,
  workspace: "default",
  credential: "local",
  input: new Uint8Array(),
  createdAt: 1,
});
