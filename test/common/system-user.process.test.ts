import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { canBeNobody } from "../helpers/nobody.ts";

test("a user without an entry in /etc/passwd goes by its number", {
  skip: !canBeNobody && "needs root",
}, () => {
  const file = join(import.meta.dirname, "../../common/system-user.ts");
  const program = `import { systemUser } from "${file}"; console.log(JSON.stringify(systemUser()))`;
  const options = { uid: 54_321, env: { HOME: "/data" } };
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", program], options);

  assert.deepEqual(JSON.parse(String(printed)), {
    ...{ name: "54321", home: "/data", shell: "/bin/bash" },
  });
});
