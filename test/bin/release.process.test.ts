import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { commitRelease, tagRelease } from "../../bin/release/commit.ts";

const root = join(import.meta.dirname, "../..");

test("a release is one commit of its version in every place, and its tag", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-release-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const ofNpm = ["package.json", "package-lock.json"];
  for (const file of [...ofNpm, "CHANGELOG.md", "common/product.ts", "deploy/helm/Chart.yaml"]) {
    mkdirSync(join(folder, file, ".."), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  const git = (...words: string[]) =>
    spawnSync("git", words, { cwd: folder, encoding: "utf8" }).stdout.trim();
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  git("init", "--quiet");
  for (const [name, value] of Object.entries({ name: "Ana", email: "ana@example.org" }))
    git("config", `user.${name}`, value);
  git("add", ".");
  git("commit", "--quiet", "--message", "Begin");

  await assert.rejects(commitRelease(folder, "next"), /next is no version/);
  await commitRelease(folder, "7.8.9");
  await commitRelease(folder, "7.8.9");
  tagRelease(folder, "7.8.9");

  assert.equal(git("log", "--format=%s"), "Release 7.8.9\nBegin");
  assert.equal(git("describe"), "v7.8.9");
  assert.equal(git("status", "--porcelain"), "");
  assert.equal(JSON.parse(read("package.json")).version, "7.8.9");
  assert.equal(JSON.parse(read("package-lock.json")).version, "7.8.9");
  assert.match(read("common/product.ts"), /title: "Outrigger", version: "7\.8\.9"/);
  assert.match(read("deploy/helm/Chart.yaml"), /^version: 7\.8\.9\nappVersion: 7\.8\.9$/m);
  assert.match(read("CHANGELOG.md"), /^## 7\.8\.9 - \d{4}-\d\d-\d\d$/m);

  await assert.rejects(commitRelease(folder, "7.8.9"), /v7\.8\.9 exists already/);
  writeFileSync(join(folder, "CHANGELOG.md"), "");
  await assert.rejects(commitRelease(folder, "8.0.0"), /the checkout has changes/);
});

test("what cannot be released is refused in one sentence", () => {
  const program = join(root, "bin/release.ts");

  const { status, stderr } = spawnSync(process.execPath, [program, "next"], { encoding: "utf8" });

  assert.equal(stderr, "release: next is no version; write it like 1.2.3\n");
  assert.equal(status, 1);
});
