import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { readArchive } from "../../../control/uploads/archive.ts";
import { sha256Of } from "../../helpers/files.ts";
import { linkTo, zipOf } from "./zips.ts";

const folder = mkdtempSync(join(tmpdir(), "zip-"));
after(() => rmSync(folder, { recursive: true }));
const roomy = { entries: 100, bytes: 1_000_000, modestBytes: 1_000_000, ratio: 200 };

async function read(bytes: Buffer, limits = roomy) {
  const file = join(folder, "a.zip");
  writeFileSync(file, bytes);
  const kept: string[] = [];
  const { entries } = await readArchive(file, limits, async (content) => {
    const held = Buffer.isBuffer(content) ? content.toString() : await text(content);
    kept.push(held);
    return { sha256: sha256Of(held), size: held.length };
  });
  return { entries: [...entries.values()], kept };
}

test("files, folders and links are read with their permissions", async () => {
  const { entries, kept } = await read(
    await zipOf({
      "home/u/p": null,
      "home/u/p/a": { text: "text", mode: 0o100_755 },
      "home/u/p/l": linkTo("a"),
    }),
  );

  assert.deepEqual(kept, ["text"]);
  assert.deepEqual(entries, [
    { kind: "folder", path: "home/u/p" },
    { kind: "file", path: "home/u/p/a", size: 4, mode: 0o755, sha256: sha256Of("text") },
    { kind: "link", path: "home/u/p/l", target: "a" },
  ]);
});

test("a slash in front is left out, as is the one that ends a link to a folder", async () => {
  const { entries } = await read(
    await zipOf({
      "#p/l": linkTo("to/"),
      "#p/d#": linkTo("../x"),
      "#p/e": linkTo("/etc/x"),
      "#p/f": "x",
    }),
  );

  assert.deepEqual(
    entries.map((entry) => [entry.path, entry.kind === "link" && entry.target]),
    [
      ["p/l", "to"],
      ["p/d", "../x"],
      ["p/e", "/etc/x"],
      ["p/f", false],
    ],
  );
});

test("a folder that is sent as a link, and then with what is in it, is a folder", async () => {
  const { entries } = await read(await zipOf({ "p#": linkTo("real"), "p/a": "x" }));

  assert.deepEqual(
    entries.map(({ path, kind }) => [path, kind]),
    [
      ["p", "folder"],
      ["p/a", "file"],
    ],
  );
});

test("the last of two things with one name counts", async () => {
  const { entries } = await read(await zipOf({ "a@b": "first", "a.b": "second" }));

  assert.deepEqual(
    entries.map((entry) => entry.kind === "file" && entry.sha256),
    [sha256Of("second")],
  );
});

const hostile: Record<string, Parameters<typeof zipOf>[0]> = {
  "a path that climbs out": { "@@#x": "x" },
  "a path that climbs out later": { "a#@@#@@#x": "x" },
  "a path of dots": { "@": "x" },
  "a path of a slash": { "#": "x" },
  "two slashes in front": { "##etc#x": "x" },
  "a link that climbs out": { "a/l": linkTo("../../x") },
  "an empty link": { l: linkTo("") },
  "a link that is too long": { l: linkTo("x".repeat(5_000)) },
  "something below a file": { a: "x", "a#b": "x" },
  "a link with a NUL byte in its target": { l: linkTo("a\0b") },
  "a folder with content": { d: { text: "x", mode: 0o040_755 } },
  "a name that no file system takes": { [`a/${"x".repeat(256)}`]: "x" },
  "a path that is too deep": { [`${"a/".repeat(1_900)}x`]: "x" },
  "a device": { d: { text: "", mode: 0o020_666 } },
  "a pipe": { d: { text: "", mode: 0o010_666 } },
};

for (const [what, members] of Object.entries(hostile))
  test(`${what} is refused`, async () => {
    await assert.rejects(read(await zipOf(members)), { name: "ValueError" });
  });

test("more than there is room for is refused before it is unpacked", async () => {
  const bomb = await zipOf({ a: "0".repeat(900_000), b: "0".repeat(200_000) });
  assert.ok(bomb.length < 5_000);

  await assert.rejects(read(bomb), { name: "TooLargeError", message: /larger, unpacked/ });
  await assert.rejects(read(await zipOf({ a: "", b: "", c: "" }), { ...roomy, entries: 2 }), {
    name: "TooLargeError",
  });
});

test("a modest archive may unpack to any multiple of its size, a large one may not", async () => {
  const bomb = await zipOf({ a: "0".repeat(900_000) });

  assert.equal((await read(bomb)).entries.length, 1);
  await assert.rejects(read(bomb, { ...roomy, modestBytes: 500_000 }), {
    name: "TooLargeError",
    message: /more than 200 times its size/,
  });
});

for (const [what, member] of Object.entries({
  "a file": "0123456789".repeat(100),
  "an empty file": "",
  "a link": linkTo("target"),
}))
  test(`${what} whose checksum is wrong is refused`, async () => {
    const bytes = await zipOf({ "p/a": member });
    bytes.writeUInt32LE(12_345, bytes.indexOf("PK\x01\x02") + 16);

    await assert.rejects(read(bytes), { name: "ValueError", message: /"p\/a".* wrong checksum/ });
  });

test("a name that is not UTF-8 although it says so is refused", async () => {
  const bytes = await zipOf({ "p/ü": "x" });
  const at = bytes.indexOf("ü", bytes.indexOf("PK\x01\x02"));
  bytes.write("\xff\xff", at, "latin1");

  await assert.rejects(read(bytes), { name: "ValueError", message: /not UTF-8/ });
});

test("members that share their bytes are refused", async () => {
  const bytes = await zipOf({ a: "x", b: "x" });
  const second = bytes.lastIndexOf("PK\x01\x02");
  bytes.writeUInt32LE(0, second + 42);

  await assert.rejects(read(bytes), { name: "ValueError", message: /share their bytes/ });
});

test("what has a folder's mode is a folder, also without a slash", async () => {
  const { entries } = await read(await zipOf({ d: { text: "", mode: 0o040_755 } }));

  assert.deepEqual(entries, [{ kind: "folder", path: "d" }]);
});

test("a size that is a lie, a broken archive and no archive are refused", async () => {
  const whole = await zipOf({ a: "0123456789".repeat(100) });
  const lie = Buffer.from(whole);
  lie.writeUInt32LE(10, lie.indexOf("PK\x01\x02") + 24);

  for (const bytes of [lie, whole.subarray(0, -30), Buffer.from("no zip"), Buffer.alloc(0)])
    await assert.rejects(read(bytes), {
      name: "ValueError",
      message: /not a readable zip archive/,
    });
});
