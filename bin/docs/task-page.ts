import { readFileSync } from "node:fs";

const page = readFileSync(new URL("../../docs/task.md", import.meta.url), "utf8");

/** What the tables of a section of docs/task.md say about each field; throws where one is missing. */
export function descriptionsOf(
  heading: string,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const [, section] = page.split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`docs/task.md has no section ${heading}`);
  const [text = ""] = section.split("\n## ");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  return Object.fromEntries(names.map((name) => [name, describe(name, rows, heading)]));
}

function describe(name: string, rows: readonly string[], heading: string): string {
  const row = rows.find((line) => namesOf(line).includes(name));
  // Some names stand only beside others, such as an older name of a field.
  const beside = row ?? rows.find((line) => line.includes(`\`${name}\``));
  if (beside === undefined) throw new Error(`docs/task.md does not name ${name} in ${heading}`);
  const [, , means = "", preset = ""] = cellsOf(beside);
  return preset === "" ? means : `${means}. Default: ${preset}`;
}

const cellsOf = (line: string): string[] => line.split(/(?<!\\)\|/).map((cell) => cell.trim());

/** `.path` in a table belongs to the field above it. */
const namesOf = (line: string): string[] =>
  [...(cellsOf(line)[1] ?? "").matchAll(/`\.?([\w.]+)`/g)].map(([, name = ""]) => name);
