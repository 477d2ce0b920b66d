import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { after, test } from "node:test";
import { type Listed, type Stretch, StretchHead } from "../../../contract/files-api.ts";
import { openFrames } from "../../../contract/frames.ts";
import { startAgent, startProcess } from "../../helpers/agent.ts";
import { sha256Of } from "../../helpers/files.ts";
import { peakMemoryOf } from "../../helpers/programs.ts";

const agent = await startAgent({ after });
const workdir = join(agent.home, "outrigger_workdir");
mkdirSync(workdir, { recursive: true });

const list = async (path: string): Promise<Listed[]> => {
  const { body } = await agent.open("listFiles", { path });
  const lines = (await text(body)).split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
};

/** What came for each stretch: its text, or the problem. */
async function read(path: string, ...stretches: Stretch[]): Promise<string[]> {
  const { body } = await agent.open("readFiles", { path, stretches });
  const frames = openFrames(body);
  const found: string[] = [];
  for (let line = await frames.line(); line !== undefined; line = await frames.line()) {
    const { bytes, problem } = StretchHead.parse(JSON.parse(line));
    found.push(problem ?? (await buffer(frames.bytes(bytes))).toString());
  }
  return found;
}

/** A folder below the working folder with a few things in it. */
function aFolder(name: string): string {
  const folder = join(workdir, name);
  mkdirSync(join(folder, "sub/empty"), { recursive: true });
  writeFileSync(join(folder, "sub/b"), "bee");
  writeFileSync(join(folder, "run.sh"), "true\n");
  chmodSync(join(folder, "run.sh"), 0o750);
  symlinkSync("sub/b", join(folder, "link"));
  symlinkSync(join(folder, "run.sh"), join(folder, "sub/whole"));
  symlinkSync("/etc/hostname", join(folder, "out"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
  return folder;
}

test("a folder is listed with its files, folders and links, and nothing else", async () => {
  aFolder("tree");

  assert.deepEqual(await list("tree"), [
    { kind: "folder", path: "" },
    { kind: "link", path: "link", target: "sub/b" },
    { kind: "link", path: "out", target: "/etc/hostname" },
    { kind: "file", path: "run.sh", size: 5, mode: 0o750, sha256: sha256Of("true\n") },
    { kind: "folder", path: "sub" },
    { kind: "file", path: "sub/b", size: 3, mode: 0o644, sha256: sha256Of("bee") },
    { kind: "folder", path: "sub/empty" },
    { kind: "link", path: "sub/whole", target: "../run.sh" },
  ]);
});

test("a path is below the working folder, below home, whole, or a link to what is meant", async () => {
  const folder = aFolder("named");
  symlinkSync("named", join(workdir, "latest"));
  const whole = await list("named");

  for (const path of ["latest", "~/outrigger_workdir/named", "~/sky_workdir/named/", folder])
    assert.deepEqual(await list(path), whole, path);
  const [file, ...rest] = await list("named/sub/b");
  assert.deepEqual([file?.kind, file?.path, rest], ["file", "", []]);
  const paths = (await list("")).map(({ path }) => path);
  assert.ok(paths.includes("named/sub/b"), paths.join());
});

test("the agent's own folder is left out of home", async () => {
  const paths = (await list("~")).map(({ path }) => path);

  assert.ok(paths.includes(".outrigger"));
  assert.deepEqual(
    paths.filter((path) => path.startsWith(".outrigger/agent")),
    [],
  );
});

test("no way leads to the agent's own files, and its journal stays locked", async () => {
  symlinkSync(join(agent.home, ".outrigger/agent"), join(workdir, "way"));
  const own = { name: "ValueError", message: /belongs to the agent and cannot be read$/ };
  for (const path of ["~/.outrigger/agent", "~/.outrigger/agent/journal.db", "way", "way/key"])
    await assert.rejects(list(path), own, path);

  const asked = [
    await read("~", { path: ".outrigger/agent/journal.db", offset: 0, end: 1 }),
    await read("", { path: "way/journal.db", offset: 0, end: 1 }),
  ];

  const refused = ["it belongs to the agent and cannot be read"];
  assert.deepEqual(asked, [refused, refused]);
  const another = startProcess(agent.home, { OUTRIGGER_SOCKET: join(agent.home, "other.sock") });
  await assert.rejects(another, /another agent serves/);
});

test("the agent's own folder is left out of a home behind a link as well", async (t) => {
  const place = mkdtempSync(join(tmpdir(), "home-"));
  mkdirSync(join(place, "true"));
  symlinkSync("true", join(place, "home"));
  const linked = await startAgent(t, { home: join(place, "home") });
  t.after(() => rmSync(place, { recursive: true, force: true }));

  const { body } = await linked.open("listFiles", { path: "~" });

  const listed = await text(body);
  assert.match(listed, /"path":"\.outrigger"/);
  assert.doesNotMatch(listed, /journal\.db/);
});

test("what is not there, or is no file, is told", async () => {
  aFolder("odd");
  symlinkSync("loop", join(workdir, "loop"));
  const cases = [
    ["none", "NotFoundError", /there is no .*outrigger_workdir\/none on the node/],
    ["odd/run.sh/x", "NotFoundError", /there is no/],
    ["odd/pipe", "ValueError", /neither a file nor a folder/],
    ["loop", "ValueError", /a link that leads nowhere/],
  ] as const;

  for (const [path, name, message] of cases)
    await assert.rejects(list(path), { name, message }, path);
});

test("a file that cannot be opened is told among the others", async () => {
  const folder = aFolder("names");
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), "x");

  const found = await list("names");

  assert.deepEqual(
    found.filter(({ kind }) => kind === "unreadable"),
    [{ kind: "unreadable", path: "\uFFFD", why: "it is gone, or its name is not UTF-8" }],
  );
  assert.ok(found.some(({ path }) => path === "sub/b"));
});

test("stretches come in the order asked for; one that cannot be sent says why", async () => {
  const folder = aFolder("read");
  symlinkSync("run.sh", join(folder, "swapped"));

  const found = await read(
    "read",
    { path: "run.sh", offset: 2, end: 4 },
    { path: "gone", offset: 0, end: 1 },
    { path: "sub/b", offset: 0, end: 3 },
    { path: "sub/b", offset: 3, end: 3 },
    { path: "sub/b", offset: 0, end: 4 },
    { path: "swapped", offset: 0, end: 1 },
    { path: "pipe", offset: 0, end: 1 },
  );

  assert.deepEqual(found, [
    "ue",
    "it is gone, or its name is not UTF-8",
    "bee",
    "",
    "it became shorter",
    "it is a link now",
    "it is no file any more",
  ]);
  await assert.rejects(read("read", { path: "../x", offset: 0, end: 1 }), { name: "ValueError" });
});

test("of a file that grows comes what was listed", async () => {
  const folder = aFolder("grows");
  const [entry] = await list("grows/sub/b");
  appendFileSync(join(folder, "sub/b"), " and more");

  assert.ok(entry?.kind === "file");
  const [content = ""] = await read("grows/sub/b", { path: "", offset: 0, end: entry.size });

  assert.equal(sha256Of(content), entry.sha256);
});

test("a large file is read with little memory", async () => {
  const size = 256 * 2 ** 20;
  writeFileSync(join(workdir, "large"), "");
  truncateSync(join(workdir, "large"), size);
  const before = peakMemoryOf(agent.pid);
  let bytes = 0;

  const { body } = await agent.open("readFiles", {
    path: "large",
    stretches: [{ path: "", offset: 0, end: size }],
  });
  for await (const chunk of body) bytes += chunk.length;

  assert.ok(bytes > size);
  const grown = peakMemoryOf(agent.pid) - before;
  assert.ok(grown < 64 * 2 ** 20, `grew by ${grown} bytes`);
});
