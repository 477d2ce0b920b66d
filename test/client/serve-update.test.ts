import assert from "node:assert/strict";
import { test } from "node:test";
import { aReplica, aService, crash } from "./services.ts";
import { serving } from "./serving.ts";

test("serve update waits until the new version serves alone", async (t) => {
  const both = { version: 2, active_versions: [1, 2] };
  const { control, outrigger } = await serving(t, [
    aService({ ...both, replica_info: [aReplica(1), aReplica(2), aReplica(3, { version: 2 })] }),
    aService({
      version: 2,
      replica_info: [
        aReplica(2, { status: "SHUTTING_DOWN" }),
        aReplica(3, { version: 2 }),
        aReplica(4, { version: 2 }),
      ],
    }),
  ]);

  const words = ["serve", "update", "chat", "chat.yaml", "--mode", "blue_green"];
  const { code, stderr } = await outrigger(words);

  assert.equal(code, 0);
  assert.match(stderr, /replica 3 READY\n.*replica 2 SHUTTING_DOWN/s);
  assert.match(stderr, /^Service chat runs version 2$/m);
  assert.equal(control.to("POST /serve/update")[0]?.body["mode"], "blue_green");
});

test("serve update ends with 1 when the new version is given up", async (t) => {
  const { outrigger } = await serving(t, [
    aService({ version: 2, given_up: `3 failed: ${crash}` }),
  ]);

  const { code, stderr } = await outrigger(["serve", "update", "chat", "chat.yaml"]);

  assert.equal(code, 1);
  assert.match(stderr, /^error: version 2 of chat failed, .*: 3 failed: run exited with 1$/m);
});
