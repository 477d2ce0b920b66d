import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test("the lock file has the packages of every platform, so that npm ci works on each", () => {
  const text = readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8");
  const packages: Record<string, Locked> = JSON.parse(text).packages;

  const wanted = Object.values(packages).flatMap((row) =>
    Object.keys(row.optionalDependencies ?? {}),
  );
  const missing = wanted.filter((name) => packages[`node_modules/${name}`] === undefined);

  assert.deepEqual(missing, []);
});
