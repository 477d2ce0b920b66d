import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

const common = join(import.meta.dirname, "../../common");

/** The build of a program in a copy of our code that has this in it besides `common`. */
async function buildWith(
  t: TestContext,
  code: Readonly<Record<string, string>>,
  program = "agent",
): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "build-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const room of ["agent", "contract", "sidecar", "control/balancer"])
    mkdirSync(join(root, room), { recursive: true });
  cpSync(common, join(root, "common"), { recursive: true });
  for (const [file, text] of Object.entries(code)) writeFileSync(join(root, file), text);
  const { buildOf } = await import(join(root, "common/programs.ts"));
  return buildOf(program);
}

test("code that a program is made of makes another build of it, and nothing else does", async (t) => {
  const build = await buildWith(t, { "agent/main.ts": "1" });

  assert.notEqual(await buildWith(t, { "agent/main.ts": "2" }), build);
  assert.notEqual(await buildWith(t, { "agent/main.ts": "1", "contract/a.ts": "" }), build);
  // The sidecars that it starts come with it.
  assert.notEqual(await buildWith(t, { "agent/main.ts": "1", "sidecar/a.ts": "" }), build);
  assert.equal(await buildWith(t, { "agent/main.ts": "1", "agent/README.md": "" }), build);
});

test("a balancer is made of what it forwards with, too, but not of the rest of control", async (t) => {
  const build = await buildWith(t, { "control/balancer/main.ts": "1" }, "balancer");
  const buildBeside = (file: string) =>
    buildWith(t, { "control/balancer/main.ts": "1", [file]: "" }, "balancer");

  assert.notEqual(await buildBeside("sidecar/a.ts"), build);
  assert.notEqual(await buildBeside("control/balancer/a.ts"), build);
  assert.equal(await buildBeside("control/a.ts"), build);
});
