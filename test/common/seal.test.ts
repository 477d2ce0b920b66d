import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openSeal } from "../../common/seal.ts";

function aKeyFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "seal-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "made/here/seal.key");
}

test("what was sealed opens again, also after a restart", (t) => {
  const file = aKeyFile(t);
  for (const text of ["", "secret", "ä€😀", "x".repeat(1_000_000)])
    assert.equal(openSeal(file).open(openSeal(file).seal(text)), text);
});

test("sealed bytes show nothing, and never the same twice", (t) => {
  const seal = openSeal(aKeyFile(t));

  const [a, b] = [seal.seal("the secret"), seal.seal("the secret")];

  assert.ok(!a.includes("secret"));
  assert.notDeepEqual(a, b);
});

test("the key is its owner's alone", (t) => {
  const file = aKeyFile(t);
  openSeal(file);

  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file).length, 32);
});

test("what was changed, cut off or sealed with another key does not open", (t) => {
  const file = aKeyFile(t);
  const seal = openSeal(file);
  const sealed = seal.seal("the secret");
  const changed = Buffer.from(sealed);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  const wrong = [changed, openSeal(aKeyFile(t)).seal("x"), Buffer.alloc(0)];
  for (const length of [5, 12, 16, 20, 27, 28]) wrong.push(sealed.subarray(0, length));

  for (const bytes of wrong)
    assert.throws(() => seal.open(bytes), {
      name: "InternalError",
      message: `a stored secret cannot be read with the key in ${file}`,
    });
});

test("a key file that holds no key is refused by name", (t) => {
  const file = aKeyFile(t);
  openSeal(file);
  writeFileSync(file, "short");

  assert.throws(() => openSeal(file), { name: "ConfigError", message: /seal\.key/ });
});
