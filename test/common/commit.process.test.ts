import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { headOf } from "../../common/commit.ts";

/** A repository with one commit. */
function aRepository(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "commit-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const as = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"];
  const git = (...words: string[]) =>
    execFileSync("git", [...as, ...words], { cwd: folder, encoding: "utf8" }).trim();
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "--message", "Begin");
  return { folder, git, commit: git("rev-parse", "HEAD") };
}

test("the commit of a checkout is that of its branch, also once git has packed it", (t) => {
  const { folder, git, commit } = aRepository(t);
  assert.equal(headOf(folder), commit);

  git("pack-refs", "--all");
  assert.equal(headOf(folder), commit);
});

test("the commit of a checkout without a branch, and of a worktree", (t) => {
  const { folder, git, commit } = aRepository(t);
  git("worktree", "add", "--quiet", "-b", "other", "beside");
  git("checkout", "--quiet", "--detach");

  assert.equal(headOf(folder), commit);
  assert.equal(headOf(join(folder, "beside")), commit);
});

test("outside a checkout, and before the first commit, there is none", (t) => {
  const { folder } = aRepository(t);
  mkdirSync(join(folder, "inside"));
  assert.equal(headOf(join(folder, "inside")), undefined);

  rmSync(join(folder, ".git/refs/heads"), { recursive: true });
  assert.equal(headOf(folder), undefined);
});
