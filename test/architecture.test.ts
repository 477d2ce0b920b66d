import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/architecture.md"), "utf8");

test("the files that the architecture names are there", () => {
  const named = page.match(/\b(agent|client|common|contract|control|sidecar)\/[\w./-]*/g) ?? [];
  assert.ok(named.length > 40, "no files were found");
  assert.deepEqual(
    named.filter((file) => !existsSync(join(root, file))),
    [],
  );
});
