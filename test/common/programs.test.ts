import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

const common = join(import.meta.dirname, "../../common");

/** The build of the agent in a copy of our code that has this in it besides `common`. */
async function buildWith(t: TestContext, code: Readonly<Record<string, string>>): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "build-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const room of ["agent", "contract"]) mkdirSync(join(root, room));
  cpSync(common, join(root, "common"), { recursive: true });
  for (const [file, text] of Object.entries(code)) writeFileSync(join(root, file), text);
  const { buildOf } = await import(join(root, "common/programs.ts"));
  return buildOf("agent");
}

test("code that a program is made of makes another build of it, and nothing else does", async (t) => {
  const build = await buildWith(t, { "agent/main.ts": "1" });

  assert.notEqual(await buildWith(t, { "agent/main.ts": "2" }), build);
  assert.notEqual(await buildWith(t, { "agent/main.ts": "1", "contract/a.ts": "" }), build);
  assert.equal(await buildWith(t, { "agent/main.ts": "1", "agent/README.md": "" }), build);
});
