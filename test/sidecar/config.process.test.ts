import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../sidecar/config.ts";
import { start } from "./program.ts";

/** A command line, and what is said of it. */
const refusals: readonly [string[], string][] = [
  [[], "give either --upstream HOST:PORT or -- COMMAND; see outrigger sidecar --help"],
  [["--keyenv", "K", "--", "x"], "unknown option '--keyenv'; did you mean `--key-env`?"],
  [["--nonsense"], "unknown option '--nonsense'; see outrigger sidecar --help"],
];

for (const [words, message] of refusals)
  test(`\`outrigger sidecar ${words.join(" ")}\` says: ${message}`, () => {
    assert.throws(() => readConfig(words, {}), { name: "UsageError", message });
  });

test("its errors look as those of the command line", async (t) => {
  const sidecar = start(t, ["--keyenv", "K"], {});

  assert.equal(await sidecar.exited, 2);
  assert.match(sidecar.lines.join("\n"), /^error: unknown option/m);
});
