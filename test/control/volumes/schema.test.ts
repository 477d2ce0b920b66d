import assert from "node:assert/strict";
import { test } from "node:test";
import { toRecord } from "../../../control/volumes/schema.ts";
import { aVolume } from "./rows.ts";

test("a folder that is not made yet has no name on its machine", () => {
  assert.equal(toRecord(aVolume({ path: null }), []).name_on_cloud, "");
});
