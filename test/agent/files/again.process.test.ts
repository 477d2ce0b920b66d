import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { startAgent } from "../../helpers/agent.ts";
import { linesOf, manifestOf, offer, send, sha256Of, type Tree } from "../../helpers/files.ts";

const agent = await startAgent({ after });
const under = (...parts: string[]) => join(agent.home, ...parts);
const nothingNew = { missing: [], files: 0, changed: 0, changedBytes: 0, removed: 0 };

test("what was brought last is offered again without a list, and made true where it was changed", async () => {
  const place = { destination: "~/again" };
  const again = (manifest: string) => agent.call("offerAgain", { ...place, manifest });
  const named = (name: string, tree: Tree) =>
    agent.call("offerFiles", { ...place, manifest: sha256Of(name) }, linesOf(manifestOf(tree)));
  const unknown = { name: "NotFoundError" };
  await assert.rejects(again(sha256Of("one")), unknown);
  await send(agent, "a1", "b1");
  await named("one", { a: "a1", "d/b": "b1" });
  assert.deepEqual(await again(sha256Of("one")), { ...nothingNew, files: 2 });

  writeFileSync(under("again/d/b"), "changed by a job");
  assert.deepEqual((await again(sha256Of("one"))).missing, [{ sha256: sha256Of("b1"), size: 2 }]);
  await send(agent, "b1");
  assert.equal((await again(sha256Of("one"))).changed, 1);
  assert.equal(readFileSync(under("again/d/b"), "utf8"), "b1");

  await send(agent, "a2");
  await named("two", { a: "a2" });
  await assert.rejects(again(sha256Of("one")), unknown);
  await offer(agent, place.destination, { a: "a2" });
  await assert.rejects(again(sha256Of("two")), unknown);
});

test("an index that a power loss damaged stands for no manifest", async () => {
  const place = { destination: "~/damaged", manifest: sha256Of("m") };
  await send(agent, "a1");
  await agent.call("offerFiles", place, linesOf(manifestOf({ a: "a1" })));
  const placed = under(".outrigger/agent/files/placed");
  for (const name of readdirSync(placed)) {
    const text = readFileSync(join(placed, name), "utf8");
    writeFileSync(
      join(placed, name),
      text.replace(/^.*/, (row) => "\0".repeat(row.length)),
    );
  }

  await assert.rejects(agent.call("offerAgain", place), { name: "NotFoundError" });
});
