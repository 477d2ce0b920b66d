import type { OptionRow } from "./catalog/options.ts";
import type { CommandRow } from "./catalog/row.ts";
import { groupSummaries } from "./help.ts";

/** A word that may stand next, and what it means. */
export interface Offer {
  readonly word: string;
  readonly means?: string;
}

/** Names that are looked up: by control, or in the home. */
export type NameKind = "cluster_name" | "api_request" | "service_name" | "context_name";

/** What may stand next: these words, names of a kind, or whatever files there are. */
export type Offers = readonly Offer[] | NameKind | "files";

/** What an operand named so is completed with. */
const operandKinds: readonly (readonly [RegExp, Offers])[] = [
  [/^[[<](cluster|clusters|names)\b/, "cluster_name"],
  [/^[[<](request|requests)\b/, "api_request"],
  [/^[[<](service|services)\b/, "service_name"],
  [/^<context>/, "context_name"],
  [/^\[(entrypoint|files)\b/, "files"],
  [/^<shell>/, ["bash", "zsh", "fish", "powershell"].map((word) => ({ word }))],
];

/** What the value of an option is completed with, by how its flags name it. */
const valueKinds: readonly (readonly [RegExp, Offers])[] = [
  [/<(file|folder)>/, "files"],
  [/--cluster <name>/, "cluster_name"],
  [/--context <name>/, "context_name"],
];

const programOptions: readonly OptionRow[] = [
  { flags: "--context <name>", means: "Context to use." },
  { flags: "--help", means: "Show help." },
];
const version: OptionRow = { flags: "--version", means: "Print the version." };

/** What may stand after these words, where the last word begins as `current` does. */
export function offersFor(
  commands: readonly CommandRow[],
  before: readonly string[],
  current: string,
): Offers {
  if (before.includes("--")) return "files";
  const [first, second] = withoutContext(before);
  const below = commands.filter(({ name }) => name.startsWith(`${first} `));
  const row = commands.find(({ name }) => name === first || name === `${first} ${second}`);
  const options = [...(row?.options ?? []).filter(({ hidden }) => !hidden), ...programOptions];
  const taken = options.find((option) => wordsOf(option).includes(before.at(-1) ?? ""));
  if (taken?.flags.includes("<")) return valuesOf(taken);
  if (first === undefined) return [...topsOf(commands), ...[...options, version].flatMap(flagsOf)];
  if (row === undefined && second === undefined) return below.map(subOf);
  const flags = options.flatMap(flagsOf);
  if (row === undefined || current.startsWith("-")) return flags;
  const { operands = "" } = row;
  return operandKinds.find(([pattern]) => pattern.test(operands))?.[1] ?? flags;
}

const wordsOf = ({ flags }: OptionRow): readonly string[] => flags.match(/--?[\w-]+/g) ?? [];

const flagsOf = (option: OptionRow): Offer[] =>
  wordsOf(option).map((word) => ({ word, means: option.means }));

const valuesOf = ({ flags, choices }: OptionRow): Offers =>
  choices?.map((word) => ({ word })) ??
  valueKinds.find(([pattern]) => pattern.test(flags))?.[1] ??
  [];

/** The words of the command itself, without an option of the program before them. */
const withoutContext = (before: readonly string[]): readonly string[] =>
  before[0] === "--context" ? before.slice(2) : before;

function topsOf(commands: readonly CommandRow[]): Offer[] {
  const tops = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [top = "", sub] = name.split(" ");
    if (!tops.has(top)) tops.set(top, sub === undefined ? summary : (groupSummaries[top] ?? ""));
  }
  return [...tops].map(([word, means]) => ({ word, means }));
}

const subOf = ({ name, summary }: CommandRow): Offer => ({
  word: name.split(" ")[1] ?? "",
  means: summary,
});
