import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../client/catalog.ts";
import { wrap } from "../../client/help.ts";
import { commandLine } from "./command-line.ts";

const nowhere = "http://127.0.0.1:1";

test("no line of help is wider than the terminal", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  for (const columns of [70, 80, 120])
    for (const name of ["", ...commands.map((row) => row.name)]) {
      const { code, stdout } = await outrigger([...name.split(" "), "--help"].filter(Boolean), {
        columns,
      });
      const examples = /^ {2}(outrigger|source) /;
      const long = stdout
        .split("\n")
        .filter((line) => line.length > columns && !examples.test(line));

      assert.deepEqual([code, long], [0, []], name);
    }
});

test("prose is filled, and the note of an example goes below it", () => {
  const text = "One two three four\n\n  outrigger launch  what it does\n  short";

  assert.equal(
    wrap(text, 20),
    "One two three four\n\n  outrigger launch\n      what it does\n  short",
  );
  assert.equal(wrap("One two three four", 9), "One two\nthree\nfour");
  assert.equal(wrap("averyveryverylongword", 9), "averyveryverylongword");
});

for (const line of ["foo --help", "foo -h", "api foo --help", "foo"])
  test(`\`outrigger ${line}\` knows no such command`, async (t) => {
    const outrigger = await commandLine(t, nowhere);

    const { code, stdout, stderr } = await outrigger(line.split(" "));

    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /unknown command 'foo'/);
  });

test("the usage of exec shows where the cluster goes", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  const { stdout } = await outrigger(["exec", "--help"]);

  assert.match(stdout, /^Usage: outrigger exec \[options\] \[cluster\] \[entrypoint\.\.\.\]$/m);
});
