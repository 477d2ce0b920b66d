import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { canBeNobody } from "../helpers/nobody.ts";

const options = { uid: 54_321, env: { HOME: "/data", PATH: process.env["PATH"] } };

test("a user without an entry in /etc/passwd goes by its number", {
  skip: !canBeNobody && "needs root",
}, () => {
  const file = join(import.meta.dirname, "../../common/system-user.ts");
  const program = `import { systemUser } from "${file}"; console.log(JSON.stringify(systemUser()))`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", program], options);

  assert.deepEqual(JSON.parse(String(printed)), {
    ...{ uid: 54_321, name: "54321", home: "/data", shell: "/bin/bash" },
  });
});

for (const words of [["doctor"], ["agent", "install", "--dry-run"]])
  test(`such a user can run: outrigger ${words.join(" ")}`, {
    skip: !canBeNobody && "needs root",
  }, () => {
    const file = join(import.meta.dirname, "../../bin/outrigger");
    const { stdout } = spawnSync(file, words, options);

    assert.match(String(stdout), /systemd/);
  });
