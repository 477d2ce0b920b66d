import assert from "node:assert/strict";
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { removeFolder } from "../../../control/providers/remove-folder.ts";
import { asNobody, canBeNobody, nobody } from "../../helpers/nobody.ts";

/** A folder of a user without rights. */
function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "remove-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  if (canBeNobody) chownSync(folder, nobody, nobody);
  return folder;
}

const exports = { removeFolder: "control/providers/remove-folder.ts" };

test("a folder goes with all it holds, and once more without complaint", async (t) => {
  const folder = join(aFolder(t), "node");
  await mkdir(join(folder, "a/b"), { recursive: true });
  await writeFile(join(folder, "a/b/c"), "");

  await removeFolder(folder);
  await removeFolder(folder);

  assert.equal(existsSync(folder), false);
});

test("folders that nobody may write to go as well, and links are not followed", async (t) => {
  if (!canBeNobody) return t.skip("only root can become a user without rights");
  const folder = aFolder(t);
  const outside = aFolder(t);
  chmodSync(outside, 0o555);

  const answer = await asNobody(
    exports,
    `const { chmodSync, mkdirSync, symlinkSync, writeFileSync } = await import("node:fs");
    mkdirSync("${folder}/node/cache/deep", { recursive: true });
    writeFileSync("${folder}/node/cache/deep/file", "", { mode: 0o444 });
    symlinkSync("${outside}", "${folder}/node/cache/link");
    for (const one of ["cache/deep", "cache"]) chmodSync("${folder}/node/" + one, 0o555);
    await removeFolder("${folder}/node");`,
  );

  assert.equal(answer, null);
  assert.equal(existsSync(join(folder, "node")), false);
  assert.equal(statSync(outside).mode & 0o777, 0o555);
});

test("what cannot be deleted is named", async (t) => {
  if (!canBeNobody) return t.skip("only root can become a user without rights");
  const folder = aFolder(t);
  const foreign = join(folder, "node/root's");
  await mkdir(foreign, { recursive: true });
  await writeFile(join(foreign, "file"), "");
  chownSync(join(folder, "node"), nobody, nobody);

  assert.deepEqual(await asNobody(exports, `await removeFolder("${folder}/node");`), {
    name: "CloudError",
    message:
      `${folder}/node cannot be deleted: EACCES: permission denied, unlink '${foreign}/file'; ` +
      "delete it by hand",
  });
});
