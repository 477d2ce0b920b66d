import assert from "node:assert/strict";
import { test } from "node:test";
import { sshProvider } from "../../../control/providers/ssh.ts";
import { openHostBook } from "../../../control/ssh-pools/allocations.ts";
import { updatePools } from "../../../control/ssh-pools/update.ts";
import { testWorld } from "../../helpers/world.ts";

test("hosts can be asked for by their pool, or of any; of none while there are no pools", async (t) => {
  const { ctx } = await testWorld(t);
  const { places } = sshProvider(openHostBook(ctx, ctx.ssh), ctx.ssh, ctx.log);
  assert.deepEqual(await places?.(), []);

  await updatePools(ctx, { lab: { hosts: ["a"] }, attic: { hosts: ["b"] } });
  assert.deepEqual((await places?.())?.toSorted(), ["ssh", "ssh/attic", "ssh/lab"]);
});
