import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

const folder = join(import.meta.dirname, "../../examples");

/** Every example, with the first sentence of the comment on top of it. */
export const exampleParts: Parts = {
  examples: () =>
    table(
      ["File", "Shows"],
      readdirSync(folder)
        .filter((name) => name.endsWith(".yaml"))
        .sort()
        .map((name) => [`[${name}](${name})`, firstSentenceOf(name)]),
    ),
};

function firstSentenceOf(name: string): string {
  const [first = ""] = readFileSync(join(folder, name), "utf8").split("\n", 1);
  return first.replace(/^# /, "").replace(/[.:]( .*)?$/, "");
}
