import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument, remarksOn } from "../../control/task.ts";

test("a remark on a service that would only be launched says how to bring it up", () => {
  const task = readDocument(
    "resources: {ports: 80, disk_size: 9}\nservice: {readiness_probe: /}\nrun: x\n",
  );

  assert.equal(
    remarksOn(task),
    "without effect here: service (bring it up with `outrigger serve up`), resources.disk_size\n",
  );
  assert.equal(remarksOn(task, ["service"]), "without effect here: resources.disk_size\n");
});
