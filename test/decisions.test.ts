import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
const folder = join(root, "docs/decisions");
const read = (file: string) => readFileSync(join(folder, file), "utf8");
const files = readdirSync(folder).filter((file) => file !== "README.md");

for (const [at, file] of files.entries())
  test(`the decision ${file} has its number and its parts, and is short`, () => {
    const text = read(file);
    const number = String(at + 1).padStart(4, "0");
    const headings = text.split("\n").filter((line) => line.startsWith("#"));
    const lines = text.split("\n").length - 1;

    assert.ok(file.startsWith(`${number}-`), "numbers follow each other");
    assert.ok(headings[0]?.startsWith(`# ${number}. `), headings[0]);
    assert.deepEqual(headings.slice(1), ["## Context", "## Decision", "## Consequences"]);
    assert.ok(lines >= 10 && lines <= 25, `${lines} lines`);
  });

test("the index lists every decision by its title, below each of its rooms", () => {
  const sections = new Map(
    read("README.md")
      .split("\n## ")
      .map((section) => [section.split("\n", 1)[0], section]),
  );
  for (const file of files) {
    const text = read(file);
    const [, number, title] = /^# (\d+)\. (.*)$/m.exec(text) ?? [];
    const rooms = [...text.matchAll(/\]\(\.\.\/\.\.\/([\w/-]+)\/README\.md\)/g)];
    assert.ok(rooms.length > 0, `${file} names no room`);
    for (const [, room] of rooms)
      assert.ok(
        sections.get(room)?.includes(`- [${number}](${file}) ${title}\n`),
        `${file} is not listed below ${room}`,
      );
  }
});
