import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findRoot } from "../../../../control/doors/kubernetes/exec.ts";
import { canBeNobody, nobody } from "../../../helpers/nobody.ts";

/** A pod's folders: a home, and what is used where that cannot be written to. */
function aPod(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "pod-"));
  t.after(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const [home, other] = [join(folder, "home"), join(folder, "other")];
  const script = `${findRoot.replaceAll("/tmp/home", other)}\nprintf %s "$root"`;
  const root = () => {
    const options = { env: { HOME: home }, ...(canBeNobody && { uid: nobody }) };
    return String(execFileSync("sh", ["-euc", script], options)).slice(folder.length + 1);
  };
  const allow = (mode: number) => chmodSync(home, mode);
  mkdirSync(home);
  return { home, other, root, allow };
}

/** What the first process of a pod does in its home. */
const begin = (home: string) => mkdirSync(join(home, ".outrigger/agent"), { recursive: true });

test("the folder of a pod stays in its home when that cannot be written to any more", (t) => {
  const { home, root, allow } = aPod(t);
  allow(0o777);
  assert.equal(root(), "home/.outrigger");

  begin(home);
  allow(0o555);

  assert.equal(root(), "home/.outrigger");
});

test("the folder of a pod stays elsewhere when its home can be written to later", (t) => {
  const { other, root, allow } = aPod(t);
  allow(0o555);
  assert.equal(root(), "other/.outrigger");

  begin(other);
  allow(0o777);

  assert.equal(root(), "other/.outrigger");
});
