import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../client/catalog.ts";
import { examples, groupSummaries, wrap } from "../../client/help.ts";
import { commandLine } from "./command-line.ts";

const nowhere = "http://127.0.0.1:1";
/** The commands whose help is made from their rows. */
const ours = commands.filter(({ readsItself }) => !readsItself);

test("no line of help is wider than the terminal", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  for (const columns of [70, 80, 120])
    for (const name of ["", ...ours.map((row) => row.name)]) {
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

test("prose is filled, and the notes of examples stand all beside them or all below", () => {
  const text = "One two three four\n\n  outrigger launch  what it does\n  short";

  assert.equal(
    wrap(text, 20),
    "One two three four\n\n  outrigger launch\n      what it does\n  short",
  );
  const two = "  outrigger logs      what\n  outrigger logs dev   why";
  assert.equal(wrap(two, 27), "  outrigger logs       what\n  outrigger logs dev   why");
  assert.equal(wrap(two, 26), "  outrigger logs\n      what\n  outrigger logs dev\n      why");
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

test("a group that is taken for something else says what it is not", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  const ssh = await outrigger(["ssh", "--help"], { columns: 120 });
  const serve = await outrigger(["serve", "--help"]);

  assert.match(ssh.stdout, /\n\nThis is not SSH to a cluster\. .* outrigger shell CLUSTER\n$/);
  assert.doesNotMatch(serve.stdout, /shell|\n\n$/);
});

test("only commands that follow a job say that JSON does not, and every group says what it is about", async (t) => {
  const outrigger = await commandLine(t, nowhere);
  const follows = async (name: string) =>
    (await outrigger([...name.split(" "), "--help"], { columns: 200 })).stdout.includes(
      "no job is followed",
    );
  const groups = new Set(ours.flatMap(({ name }) => name.match(/^\S+(?= )/)?.[0] ?? []));

  assert.deepEqual([await follows("launch"), await follows("jobs launch")], [true, true]);
  assert.deepEqual([await follows("stop"), await follows("ssh up")], [false, false]);
  for (const group of groups) assert.ok(Object.hasOwn(groupSummaries, group), group);
});

test("the usage of exec shows where the cluster goes", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  const { stdout } = await outrigger(["exec", "--help"]);

  assert.match(stdout, /^Usage: outrigger exec \[options\] \[cluster\] \[entrypoint\.\.\.\]$/m);
});

test("`help` is another word for --help", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  for (const line of ["", "stop", "api start"]) {
    const words = line.split(" ").filter(Boolean);
    const help = await outrigger(["help", ...words]);
    assert.deepEqual(help, await outrigger([...words, "--help"]));
    assert.equal(help.code, 0);
  }
  const unknown = await outrigger(["help", "foo"]);
  assert.match(unknown.stderr, /unknown command 'foo'/);
});

test("ls and list are one verb, and so are rm and delete", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  for (const [said, ours] of [
    ["users ls", "users list"],
    ["storage list", "storage ls"],
    ["recipes rm", "recipes delete"],
    ["secrets delete", "secrets rm"],
  ] as const) {
    const help = await outrigger([...said.split(" "), "--help"]);
    assert.deepEqual(help, await outrigger([...ours.split(" "), "--help"]));
    assert.equal(help.code, 0, said);
  }
});

test("what is misspelt is told where help is", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  for (const [line, command] of [
    ["foo", "outrigger"],
    ["api foo", "outrigger api"],
    ["stop --foo", "outrigger stop"],
  ] as const) {
    const { stderr } = await outrigger(line.split(" "));
    assert.match(stderr, new RegExp(`^Commands: ${command} --help$`, "m"));
  }
});

test("no sentence of help is broken by hand, as the terminal's width breaks it", () => {
  for (const { name, more = "" } of commands) assert.doesNotMatch(more, /\n[a-z0-9-]/, name);
  assert.doesNotMatch(examples, /\n[a-z0-9-]/);
});

test("the help of stop and down says that --purge skips hooks", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  for (const name of ["stop", "down"]) {
    const { stdout } = await outrigger([name, "--help"]);
    assert.match(stdout, /--purge +Skip hooks/);
  }
});
