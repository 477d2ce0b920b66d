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
  const words = withoutContext(before);
  const typed = `${words.join(" ")} `;
  const row = commands.find(({ name }) => typed.startsWith(`${name} `));
  const options = [...(row?.options ?? []).filter(({ hidden }) => !hidden), ...programOptions];
  const taken = options.find((option) => wordsOf(option).includes(before.at(-1) ?? ""));
  if (taken?.flags.includes("<")) return valuesOf(taken);
  if (words.length === 0)
    return [...nextOf(commands, 0), ...[...options, version].flatMap(flagsOf)];
  const below = commands.filter(({ name }) => name.startsWith(typed));
  if (row === undefined && below.length > 0) return nextOf(below, words.length);
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

/** The words of commands after so many, each once. */
function nextOf(commands: readonly CommandRow[], after: number): Offer[] {
  const next = new Map<string, string>();
  for (const { name, summary } of commands) {
    const words = name.split(" ").slice(0, after + 1);
    const path = words.join(" ");
    next.set(words.at(-1) ?? "", name === path ? summary : (groupSummaries[path] ?? ""));
  }
  return [...next].map(([word, means]) => ({ word, means }));
}
