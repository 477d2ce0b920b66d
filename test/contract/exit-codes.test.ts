import assert from "node:assert/strict";
import { test } from "node:test";
import { exitedWith } from "../../contract/exit-codes.ts";

/** Codes, and what is said of each. */
const codes: readonly [number, string][] = [
  [1, "exited with 1"],
  [127, "exited with 127 (command not found)"],
  [128, "exited with 128"],
  [137, "exited with 137 (killed by SIGKILL, perhaps out of memory)"],
  [139, "exited with 139 (crashed: invalid access to memory, SIGSEGV)"],
  [143, "exited with 143 (ended by SIGTERM)"],
  [255, "exited with 255"],
];

for (const [code, told] of codes)
  test(`a process that leaves code ${code} ${told}`, () => {
    assert.equal(exitedWith(code), told);
  });
