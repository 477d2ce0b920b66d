import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { page, table } from "./markdown.ts";

const folder = join(import.meta.dirname, "../../examples");

/** Every example, with the first sentence of the comment on top of it. */
export const examplesPage = (): string =>
  page(
    "Examples",
    "examples/*.yaml",
    "Each file shows one thing. The comment on top of it has the commands; run them from the folder that holds `examples`. " +
      "[The reference](../docs/task.md) lists every field.",
    table(
      ["File", "Shows"],
      readdirSync(folder)
        .filter((name) => name.endsWith(".yaml"))
        .sort()
        .map((name) => [`[${name}](${name})`, firstSentenceOf(name)]),
    ),
  );

function firstSentenceOf(name: string): string {
  const [first = ""] = readFileSync(join(folder, name), "utf8").split("\n", 1);
  return first.replace(/^# /, "").replace(/[.:]( .*)?$/, "");
}
