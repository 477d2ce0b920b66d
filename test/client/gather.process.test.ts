import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { gather, lookOf, readItems } from "../../client/gather.ts";
import { packedId, packInto } from "../../client/pack.ts";

/** A folder with these files; what is gathered of it, by path. */
function aFolder(t: TestContext, files: Readonly<Record<string, string>>) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "gather-")));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const named = async (below = "") => {
    const items = await gather([join(root, below)]);
    return items
      .filter(({ kind }) => kind !== "folder")
      .map(({ path }) => relative(root, path))
      .toSorted();
  };
  return { root, named };
}

test("a folder comes whole: files, empty folders, links, permissions", async (t) => {
  const { root } = aFolder(t, { a: "text", "b/c": "" });
  mkdirSync(join(root, "empty"));
  chmodSync(join(root, "a"), 0o755);
  symlinkSync(join(root, "a"), join(root, "b/absolute"));
  symlinkSync("../../../../../../../../../../../far", join(root, "far"));
  symlinkSync("/etc/hostname", join(root, "out"));

  const items = await readItems(await gather([root, join(root, "a")]));

  const byPath = new Map(items.map((item) => [relative(root, item.path), item]));
  assert.deepEqual([...byPath.keys()].toSorted(), [
    "",
    "a",
    "b",
    "b/absolute",
    "b/c",
    "empty",
    "far",
    "out",
  ]);
  const file = byPath.get("a");
  assert.ok(file?.kind === "file" && file.mode === 0o755 && file.size === 4);
  const link = byPath.get("b/absolute");
  assert.equal(link?.kind === "link" && link.target, "../a");
  const far = byPath.get("far");
  assert.equal(far?.kind === "link" && join(root, far.target), "/far");
  const out = byPath.get("out");
  assert.equal(out?.kind === "link" && out.target, "/etc/hostname");
});

test("git's rules hold at every depth, the deeper ones first", async (t) => {
  const { named } = aFolder(t, {
    ".gitignore": "*.log\n/build/\nsecret*\n",
    "a.log": "",
    "build/x": "",
    "sub/build/x": "",
    "sub/.gitignore": "!keep.log\nown\n",
    "sub/keep.log": "",
    "sub/other.log": "",
    "sub/own": "",
    own: "",
    "secrets/x": "",
  });

  assert.deepEqual(await named(), [
    ".gitignore",
    "own",
    "sub/.gitignore",
    "sub/build/x",
    "sub/keep.log",
  ]);
});

test("a folder of a repository has the repository's rules, and what git tracks comes along", async (t) => {
  const { root, named } = aFolder(t, {
    ".gitignore": "*.bin\ncache/\n",
    "sub/a.bin": "",
    "sub/tracked.bin": "",
    "sub/cache/tracked": "",
    "sub/cache/x": "",
    "sub/excluded": "",
    "sub/b": "",
  });
  const git = (...words: string[]) =>
    execFileSync("git", ["-C", root, ...words], { stdio: "pipe" });
  git("init", "-q");
  git("add", "-f", "sub/tracked.bin", "sub/cache/tracked");
  writeFileSync(join(root, ".git/info/exclude"), "excluded\n");

  assert.deepEqual(await named("sub"), ["sub/b", "sub/cache/tracked", "sub/tracked.bin"]);
  // The repository as a whole has the same rules.
  const whole = (await gather([root])).map(({ path }) => relative(root, path));
  assert.ok(whole.includes("sub/b") && !whole.includes("sub/excluded"), whole.join());
});

test("an ignore file of our own, under either name, takes the place of git's rules", async (t) => {
  for (const name of [".skyignore", ".outriggerignore"]) {
    const { named } = aFolder(t, {
      [name]: "# not these\n*.tmp\n/top\ndata/raw\n!\n",
      ".gitignore": "*.log\n",
      "a.log": "",
      "b.tmp": "",
      "sub/c.tmp": "",
      top: "",
      "sub/top": "",
      "deep/data/raw/x": "",
      "deep/data/x": "",
    });

    const expected = [".gitignore", name, "a.log", "deep/data/x", "sub/top"];
    assert.deepEqual(await named(), expected.toSorted());
  }
});

test("a folder that git ignores as a whole comes whole, and so does a file that is named", async (t) => {
  const { root, named } = aFolder(t, { ".gitignore": "out/\n*.bin\n", "out/x": "", "a.bin": "" });
  execFileSync("git", ["-C", root, "init", "-q"]);

  assert.deepEqual(await named("out"), ["out/x"]);
  assert.deepEqual(await named("a.bin"), ["a.bin"]);
});

test("what is not there is named, and so is what cannot be sent", async (t) => {
  const { root } = aFolder(t, { "a\\b": "" });

  await assert.rejects(gather([join(root, "nothing")]), {
    name: "NotFoundError",
    message: /there is no .*nothing/,
  });
  await assert.rejects(gather([root]), { name: "ValueError", message: /has a backslash/ });
  await assert.rejects(gather(["/dev/null"]), { name: "ValueError" });
});

test("the same files have the same blob, and a mode, a name or a content makes another", async (t) => {
  const { root } = aFolder(t, { a: "text", b: "x" });
  const id = async () => packedId(await readItems(await gather([root])));
  const first = await id();

  assert.equal(await id(), first);
  const archives = [`${root}-1.zip`, `${root}-2.zip`];
  t.after(() => {
    for (const file of archives) rmSync(file, { force: true });
  });
  const items = await readItems(await gather([root]));
  await packInto(archives[0] ?? "", items, { compress: true });
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 3_600_000 });
  await packInto(archives[1] ?? "", items.toReversed(), { compress: true });
  const [one, two] = archives.map((file) => readFileSync(file));
  assert.ok(one && two && one.equals(two));
  chmodSync(join(root, "a"), 0o755);
  const second = await id();
  writeFileSync(join(root, "b"), "y");
  const third = await id();

  assert.equal(new Set([first, second, third]).size, 3);
  assert.match(first, /^[0-9a-f]{64}$/);
});

test("files look the same until one is written, moved or changed in mode", async (t) => {
  const { root } = aFolder(t, { a: "text", "b/c": "x" });
  symlinkSync("a", join(root, "link"));
  const look = async () => lookOf(await gather([root]));
  const first = await look();
  assert.equal(await look(), first);

  const looks = [first];
  for (const change of [
    () => writeFileSync(join(root, "a"), "TEXT"),
    () => chmodSync(join(root, "a"), 0o600),
    () => renameSync(join(root, "b/c"), join(root, "b/d")),
    () => mkdirSync(join(root, "empty")),
    () => {
      rmSync(join(root, "link"));
      symlinkSync("b", join(root, "link"));
    },
  ]) {
    change();
    looks.push(await look());
  }
  assert.equal(new Set(looks).size, looks.length);
});
