import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
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
import { partOf } from "../../client/fetch-part.ts";
import { listNodeHomes, peakMemoryOf, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { filesOfZip } from "./zip.ts";

const control = await startControl({ after });
const make = `
mkdir -p results/sub results/empty && cd results
echo "rank $OUTRIGGER_NODE_RANK" > who; printf bee > sub/b; chmod 750 who
ln -s sub/b link; ln -s /etc/hostname out`;
await clusterOf(control, "dev").launch(aTask(make, { num_nodes: 2 }));
await clusterOf(control, "dev").untilJob(1, "SUCCEEDED");
const [head = ""] = listNodeHomes(control.home);
const onHead = (...path: string[]) => join(head, "outrigger_workdir", ...path);
const here = (...path: string[]) => join(control.home, ...path);
const read = (...path: string[]) => readFileSync(here(...path), "utf8");

test("a folder of a node comes, and only what changed comes again", async () => {
  const first = await control.cli("download", "dev:results", "one");

  assert.match(first.stderr, /✗ left out out: it is a link out, to \/etc\/hostname/);
  assert.match(first.stderr, /Fetching 3 of 3 files, 10 bytes/);
  assert.deepEqual([first.code, first.stdout], [1, `${here("one")}\n`]);
  assert.deepEqual(readdirSync(here("one")).toSorted(), ["empty", "link", "sub", "who"]);
  assert.equal(read("one/who"), "rank 0\n");
  assert.equal(statSync(here("one/who")).mode & 0o777, 0o750);
  assert.equal(readlinkSync(here("one/link")), "sub/b");
  assert.equal(read("one/sub/b"), "bee");

  writeFileSync(here("one/mine"), "stays");
  writeFileSync(here("one/who"), "RANK 0\n");
  const inode = statSync(here("one/sub/b")).ino;
  const second = await control.cli("download", "dev:results", "one");

  assert.match(second.stderr, /Fetching 1 of 3 files, 7 bytes/);
  assert.equal(read("one/who"), "rank 0\n");
  assert.equal(read("one/mine"), "stays");
  assert.equal(statSync(here("one/sub/b")).ino, inode);
  const third = await control.cli("download", "dev:results", "one");
  assert.match(third.stderr, /3 files, all up to date/);
});

test("one file, another rank, and the names that things get here", async () => {
  mkdirSync(here("into"));
  const words = [
    ["dev:results/who", "--rank", "1"],
    ["dev:results/who", "into"],
    ["dev:results/who", "deep/er/"],
    ["dev:~/outrigger_workdir/results/sub"],
    ["dev:", "all"],
  ];

  for (const some of words) {
    const { code, stderr } = await control.cli("download", ...some);
    assert.equal(code, some[0] === "dev:" ? 1 : 0, stderr);
  }

  assert.equal(read("who"), "rank 1\n");
  assert.equal(read("into/who"), "rank 0\n");
  assert.equal(read("deep/er/who"), "rank 0\n");
  assert.equal(read("sub/b"), "bee");
  assert.equal(read("all/results/sub/b"), "bee");
});

test("a part that is here already goes on, and one of something else is thrown away", async () => {
  const half = 4 * 2 ** 20;
  const content = Buffer.alloc(2 * half, "0123456789abcde\n");
  writeFileSync(onHead("large"), content);
  mkdirSync(here("parts"));
  const target = here("parts/large");

  for (const begin of [content.subarray(0, half), Buffer.alloc(half, "other")]) {
    writeFileSync(partOf(target), begin);
    const { code, stderr } = await control.cli("download", "dev:large", "parts/");
    assert.equal(code, 0, stderr);
    assert.ok(readFileSync(target).equals(content));
    assert.deepEqual(readdirSync(here("parts")), ["large"]);
    writeFileSync(target, "changed");
  }
});

test("nothing is written through a link that lies here", async () => {
  mkdirSync(here("outside"));
  for (const place of ["linked", "linked-part"]) mkdirSync(here(place));
  symlinkSync(here("outside"), here("linked/sub"));
  symlinkSync(here("outside/who"), partOf(here("linked-part/who")));
  symlinkSync(here("outside"), here("linked-part/link"));

  const through = await control.cli("download", "dev:results", "linked");
  const part = await control.cli("download", "dev:results/who", "linked-part/who");
  const replaced = await control.cli("download", "dev:results/link", "linked-part/link");

  assert.equal(through.code, 5);
  assert.match(through.stderr, /linked\/sub is in the way of a folder; move it/);
  assert.equal(part.code, 1);
  assert.match(part.stderr, /cannot write .*linked-part\/who: ELOOP/);
  assert.equal(replaced.code, 0, replaced.stderr);
  assert.deepEqual(readdirSync(here("outside")), ["link"]);
});

test("what cannot be fetched is told", async () => {
  const cases = [
    [["none:x"], 3, /there is no cluster none/],
    [["dev:none"], 3, /there is no .*outrigger_workdir\/none on the node/],
    [["dev:results", "--rank", "2"], 2, /cluster dev has no rank 2; its nodes are ranks 0 to 1/],
    [["dev"], 2, /name what to fetch: outrigger download CLUSTER:PATH/],
    [["dev:results/who", "who/x"], 1, /cannot write .*who/],
  ] as const;

  for (const [words, code, message] of cases) {
    const found = await control.cli("download", ...words);
    assert.match(found.stderr, message);
    assert.equal(found.code, code, words.join(" "));
  }
  assert.ok(!existsSync(here("none")));
});

test("whoever asks as other clients do gets a zip", async () => {
  const ask = (path: string, relative = "items") =>
    fetch(`${control.endpoint}/download?relative=${relative}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ folder_paths: [path] }),
    });

  const answer = await ask("dev:results");

  assert.equal(answer.headers.get("content-type"), "application/zip");
  assert.deepEqual(filesOfZip(Buffer.from(await answer.arrayBuffer())), {
    "empty/": "",
    link: "sub/b",
    out: "/etc/hostname",
    "sub/": "",
    "sub/b": "bee",
    who: "rank 0\n",
  });
  const whole = filesOfZip(Buffer.from(await (await ask("dev:results/who", "")).arrayBuffer()));
  assert.deepEqual(whole, { "dev/who": "rank 0\n" });
  assert.equal((await ask("dev:none")).status, 404);
  mkdirSync(onHead("closed"));
  writeFileSync(Buffer.concat([Buffer.from(onHead("closed/")), Buffer.from([0xff])]), "x");
  assert.equal((await ask("dev:closed")).status, 403);
});

test("a large file costs control little memory", async () => {
  const size = 128 * 2 ** 20;
  for (let at = 0; at < 8; at += 1)
    appendFileSync(onHead("huge"), Buffer.alloc(size / 8, String(at)));
  const before = peakMemoryOf(control.pid);

  const { code, stderr } = await control.cli("download", "dev:huge", "huge");

  assert.equal(code, 0, stderr);
  assert.equal(statSync(here("huge")).size, size);
  const grown = peakMemoryOf(control.pid) - before;
  assert.ok(grown < size, `grew by ${grown} bytes`);
});
