import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/troubleshooting.md"), "utf8");
const sources = globSync("{agent,client,common,contract,control}/**/*.ts", { cwd: root })
  .map((file) => readFileSync(join(root, file), "utf8"))
  .join("\n");

/** The messages that begin a row of the page. */
const messages = page
  .split("\n")
  .filter((line) => /^\| `[a-z][^`]* [^`]*`/.test(line))
  .map((line) => line.split("`")[1] ?? "");

/** What stands in the code: a message without its names, numbers and addresses. */
const fixedParts = (message: string): string[] =>
  message
    .split(/[\d…():,`]+|\b(?:dev|local|OUTRIGGER_\w*|https?)\b/)
    .map((part) => part.trim())
    .filter((part) => part.length >= 8);

test("the messages that troubleshooting explains are those of the programs", () => {
  assert.ok(messages.length > 12, "no messages were found");
  const foreign = messages.filter(
    (message) => !fixedParts(message).some((part) => sources.includes(part)),
  );
  assert.deepEqual(foreign, []);
});
