import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { startAgent, until } from "../../helpers/agent.ts";
import { bring, framed, linesOf, manifestOf, offer, send, sha256Of } from "../../helpers/files.ts";
import { peakMemoryOf } from "../../helpers/programs.ts";

const agent = await startAgent({ after });
const under = (...parts: string[]) => join(agent.home, ...parts);
const read = (...parts: string[]) => readFileSync(under(...parts), "utf8");
const contents = () => readdirSync(under(".outrigger/agent/files/contents"));

test("files, folders and links come where they belong, with their permissions", async () => {
  const tree = {
    "train.py": "print()\n",
    "bin/go": { text: "#!/bin/sh\n", mode: 0o755 },
    empty: { folder: true },
    "none.txt": "",
    latest: { link: "train.py" },
    "ünïcode\n.txt": "x",
  } as const;

  const { first, last } = await bring(agent, "~/outrigger_workdir", tree);

  assert.equal(first.missing.length, 4);
  assert.deepEqual(last, { missing: [], files: 5, changed: 5, changedBytes: 19, removed: 0 });
  assert.equal(read("outrigger_workdir/train.py"), "print()\n");
  assert.equal(read("outrigger_workdir/none.txt"), "");
  assert.equal(read("outrigger_workdir/ünïcode\n.txt"), "x");
  assert.equal(statSync(under("outrigger_workdir/bin/go")).mode & 0o777, 0o755);
  assert.ok(statSync(under("outrigger_workdir/empty")).isDirectory());
  assert.equal(readlinkSync(under("outrigger_workdir/latest")), "train.py");
  assert.deepEqual(contents(), []);
});

test("only what changed is missing, and only that is written", async () => {
  const place = "~/changes";
  await bring(agent, place, { a: "one", b: "two", c: { text: "three", mode: 0o644 } });
  const before = statSync(under("changes/a"));

  const { first, last } = await bring(agent, place, {
    a: "one",
    b: "TWO!",
    c: { text: "three", mode: 0o700 },
  });

  assert.deepEqual(first.missing, [{ sha256: sha256Of("TWO!"), size: 4 }]);
  assert.deepEqual([last.files, last.changed, last.changedBytes], [3, 2, 4]);
  assert.equal(read("changes/b"), "TWO!");
  assert.equal(statSync(under("changes/c")).mode & 0o777, 0o700);
  assert.equal(statSync(under("changes/a")).ino, before.ino);
  const again = await offer(agent, place, {
    a: "one",
    b: "TWO!",
    c: { text: "three", mode: 0o700 },
  });
  assert.equal(again.changed, 0);
});

test("what an offer brought goes with it, and what others made or changed stays", async () => {
  const place = "~/removals";
  await bring(agent, place, {
    keep: "keep",
    drop: "drop",
    edited: "edited",
    "sub/drop": "x",
    "shared/drop": "y",
    gone: { link: "keep" },
  });
  await bring(agent, "~/removals/full", { empty: { folder: true } });
  writeFileSync(under("removals/edited"), "by the job");
  writeFileSync(under("removals/shared/result"), "by the job");

  const { last } = await bring(agent, place, { keep: "keep", shared: { folder: true } });

  assert.equal(last.removed, 4);
  assert.deepEqual(readdirSync(under("removals")).toSorted(), [
    "edited",
    "full",
    "keep",
    "shared",
    "sub",
  ]);
  assert.deepEqual(readdirSync(under("removals/shared")), ["result"]);
  assert.equal(read("removals/edited"), "by the job");
});

test("a file that a job changed is as the manifest says again, without being sent when it is there", async () => {
  const place = "~/edited";
  await bring(agent, place, { a: "mine", b: "other" });
  writeFileSync(under("edited/a"), "jobs");
  writeFileSync(under("edited/b"), "other");

  const { first } = await bring(agent, place, { a: "mine", b: "other" });

  assert.deepEqual(
    first.missing.map(({ sha256 }) => sha256),
    [sha256Of("mine")],
  );
  assert.equal(read("edited/a"), "mine");
});

test("a content that many files have is sent once", async () => {
  const { first, last } = await bring(agent, "~/many", { a: "same", b: "same", "c/d": "same" });

  assert.equal(first.missing.length, 1);
  assert.equal(last.changed, 3);
  assert.deepEqual(
    ["many/a", "many/b", "many/c/d"].map((path) => read(path)),
    ["same", "same", "same"],
  );
  assert.deepEqual(contents(), []);
});

test("one file may be put at a path of its own, and a relative path is below the working folder", async () => {
  await bring(agent, "~/.config/tool.json", { "": "{}" });
  await bring(agent, "data/x", { "": "inside" });
  await bring(agent, "~/sky_workdir/linked", { "": "by the other name" });

  assert.equal(read(".config/tool.json"), "{}");
  assert.equal(read("outrigger_workdir/data/x"), "inside");
  assert.equal(read("outrigger_workdir/linked"), "by the other name");
  assert.ok(!existsSync(under("sky_workdir")) || lstatSync(under("sky_workdir")).isSymbolicLink());
});

test("a destination within another one has its files whatever comes to the other", async () => {
  await bring(agent, "~/outer", { x: "x", "b/y": "y" });
  await bring(agent, "~/outer/b", { y: "y", z: "z" });

  await bring(agent, "~/outer", { x: "X" });

  assert.equal(read("outer/x"), "X");
  assert.equal(read("outer/b/z"), "z");
  assert.equal(read("outer/b/y"), "y");
});

test("a file becomes a folder and a folder a file, unless others have files there", async () => {
  const place = "~/turns";
  await bring(agent, place, { a: "file", "b/c": "in a folder", b: { folder: true } });
  await bring(agent, place, { "a/x": "now below", a: { folder: true }, b: "now a file" });

  assert.equal(read("turns/a/x"), "now below");
  assert.equal(read("turns/b"), "now a file");
  writeFileSync(under("turns/a/result"), "by the job");
  await assert.rejects(bring(agent, place, { a: "a file again" }), {
    name: "ConflictError",
    message: /turns\/a is a folder here that has files of its own/,
  });
});

test("a link to a folder that a job put there is followed", async () => {
  mkdirSync(under("big"));
  mkdirSync(under("linked"));
  symlinkSync(under("big"), under("linked/data"));

  await bring(agent, "~/linked", { data: { folder: true }, "data/x": "behind the link" });

  assert.equal(read("big/x"), "behind the link");
  assert.ok(lstatSync(under("linked/data")).isSymbolicLink());
});

test("nothing leads out of its destination", async () => {
  for (const path of ["../x", "/etc/x", "a/../../x", "a//b", "./a", "a/", "a\0b"])
    await assert.rejects(offer(agent, "~/safe", { [path]: "x" }), { name: "ValueError" }, path);
  for (const destination of ["~", "~/", "/", "/..", "~/a/..", "~/.outrigger/agent/key"])
    await assert.rejects(offer(agent, destination, { a: "x" }), { name: "ValueError" });
  await assert.rejects(agent.call("offerFiles", { destination: "~/safe" }, Buffer.from("{}")), {
    name: "ValueError",
  });
});

test("contents that are not what they say are refused, and those before them kept", async () => {
  const lie = Buffer.from(framed("a lie").toString().replace("a lie", "a LIE"));

  await assert.rejects(
    agent.call("sendContents", {}, Buffer.concat([framed("truth"), lie, framed("never read")])),
    { name: "ValueError", message: /came with other bytes/ },
  );
  await assert.rejects(agent.call("sendContents", {}, framed("cut off").subarray(0, -2)), {
    name: "ValueError",
    message: /break off/,
  });

  assert.ok(contents().includes(sha256Of("truth")));
  assert.ok(contents().every((name) => /^[0-9a-f]{64}$/.test(name)));
  const { missing } = await offer(agent, "~/lies", { a: "truth", b: "cut off" });
  assert.deepEqual(
    missing.map(({ sha256 }) => sha256),
    [sha256Of("cut off")],
  );
});

test("what may not be written is named", async (t) => {
  if (process.getuid?.() === 0) return t.skip("root may write everywhere");
  mkdirSync(under("locked"));
  chmodSync(under("locked"), 0o500);

  await assert.rejects(bring(agent, "~/locked", { a: "x" }), {
    name: "PermissionDeniedError",
    message: /locked\/a may not be written by the user of this node/,
  });
});

test("a job finds its files where it starts", async () => {
  await bring(agent, "~/outrigger_workdir", { "hello.txt": "hello from the caller\n" });
  const { id } = await agent.submit("cat hello.txt");
  await agent.untilJob(id);

  assert.equal(await agent.log(id), "hello from the caller\n");
  assert.ok(!existsSync(under("outrigger_workdir/train.py")));
});

test("offers at once leave what one of them says", async () => {
  const trees = ["one", "two"].map((text) => ({ [text]: text, both: text }));
  await Promise.all(trees.map((tree) => send(agent, ...new Set(Object.values(tree)))));

  await Promise.all(trees.map((tree) => bring(agent, "~/race", tree)));

  const left = readdirSync(under("race"));
  assert.equal(left.length, 2);
  assert.equal(
    read("race/both"),
    left.find((name) => name !== "both"),
  );
});

test("an agent that was killed between the contents and the manifest needs none again", async () => {
  const tree = { a: "before the kill", b: "likewise" };
  await offer(agent, "~/killed", tree);
  await send(agent, "before the kill");
  await agent.end("SIGKILL");
  await agent.start();

  const { first, last } = await bring(agent, "~/killed", tree);

  assert.deepEqual(
    first.missing.map(({ sha256 }) => sha256),
    [sha256Of("likewise")],
  );
  assert.equal(last.changed, 2);
});

test("a large file costs the agent no memory", async () => {
  const big = "0123456789abcdef".repeat(4 * 1024 * 1024);
  const before = peakMemoryOf(agent.pid);

  await bring(agent, "~/big-file", { a: big });

  assert.equal(statSync(under("big-file/a")).size, big.length);
  const grown = peakMemoryOf(agent.pid) - before;
  assert.ok(grown < big.length, `${grown} bytes more`);
});

test("a manifest of many files is taken", async () => {
  const tree = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, at) => [`d${at % 50}/${at}`, `${at}`]),
  );

  const { last } = await bring(agent, "~/many-files", tree);

  assert.equal(last.changed, 1_000);
  assert.equal(
    (await agent.call("offerFiles", { destination: "~/many-files" }, linesOf(manifestOf(tree))))
      .changed,
    0,
  );
  await until(() => existsSync(under("many-files/d49/999")) || undefined);
});
