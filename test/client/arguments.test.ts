import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  holdsSecret,
  jobIdsOf,
  madeUpName,
  originOf,
  variablesOf,
  wholeNumber,
} from "../../client/arguments.ts";

test("variables come from a file, the command line and our environment", (t) => {
  const cwd = mkdtempSync(join(tmpdir(), "outrigger-env-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, ".env"), 'A=1\nB="two words"\nEMPTY=\n');

  const found = variablesOf(["A=x=y", "HERE"], ".env", { env: { HERE: "h" }, cwd });

  assert.deepEqual(found, { A: "x=y", B: "two words", EMPTY: "", HERE: "h" });
  assert.throws(() => variablesOf(["GONE"], undefined, { env: {}, cwd }), { name: "UsageError" });
  assert.throws(() => variablesOf(["1x=2"], undefined, { env: {}, cwd }), { name: "UsageError" });
  assert.throws(() => variablesOf([], "no", { env: {}, cwd }), { name: "NotFoundError" });
});

test("lines of a file that are no variables are refused by number, and not shown", (t) => {
  const cwd = mkdtempSync(join(tmpdir(), "outrigger-env-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, "good"), '# a remark\n\n export A=1\nB="two\nlines"\nC=`x`\n');
  writeFileSync(join(cwd, "bad"), "A=1\ns3cret\nB='x\ny'\n s3cret too\n");
  const read = (file: string) => variablesOf([], file, { env: {}, cwd });

  assert.deepEqual(read("good"), { A: "1", B: "two\nlines", C: "x" });
  assert.throws(() => read("bad"), {
    name: "UsageError",
    message: "bad: no `=` on line 2, 5; write KEY=VALUE, or # before a comment",
  });
});

test("the origin of a request holds no secret, which is noticed", () => {
  const words = [
    "launch",
    "--secret",
    "A=s3cret",
    "--secret=B=s3cret",
    "echo it's",
    "--env",
    "C=1",
  ];

  assert.equal(
    originOf(words),
    "outrigger launch --secret 'A=<redacted>' '--secret=B=<redacted>' 'echo it'\\''s' --env C=1",
  );
  assert.ok(holdsSecret(words));
  assert.ok(holdsSecret(["--secret=B=s3cret"]));
  assert.ok(!holdsSecret(["launch", "--secret", "A", "--env", "C=it's", "--secret=B"]));
});

test("numbers are whole, and large enough", () => {
  assert.equal(wholeNumber(1)("3"), 3);
  assert.deepEqual(jobIdsOf(["1", "22"]), [1, 22]);
  for (const bad of ["0", "x", "1.5", "", "-1"])
    assert.throws(() => wholeNumber(1)(bad), { name: "UsageError" }, bad);
  assert.equal(wholeNumber(0, 65_535)("65535"), 65_535);
  assert.throws(() => wholeNumber(0, 65_535)("65536"), /"65536" is not .* number from 0 to 65535$/);
  assert.throws(() => jobIdsOf(["1", "dev"]), { name: "UsageError" });
});

test("a made-up name is a legal cluster name", () => {
  assert.equal(madeUpName("Ana.Lima", "3fa9"), "outrigger-3fa9-analima");
  assert.equal(madeUpName("¡", "3fa9"), "outrigger-3fa9-user");
});
