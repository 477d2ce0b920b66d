import type { OptionRow } from "./catalog/options.ts";
import type { CommandRow } from "./catalog/row.ts";
import { groupSummaries } from "./help.ts";

export type Shell = "bash" | "zsh" | "fish";

/** The completion script of each shell, made from the table of commands. */
export const scripts: Record<Shell, (commands: readonly CommandRow[]) => string> = {
  bash,
  zsh,
  fish,
};

/** What an operand named so is completed with. */
const operandKinds: readonly (readonly [RegExp, string])[] = [
  [/^[[<](cluster|clusters|names)\b/, "cluster_name"],
  [/^[[<](request|requests)\b/, "api_request"],
  [/^[[<](service|services)\b/, "service_name"],
  [/^\[entrypoint\b/, "file"],
  [/^<shell>/, "shell"],
];

const kindOf = ({ operands = "" }: CommandRow) =>
  operandKinds.find(([pattern]) => pattern.test(operands))?.[1] ?? "none";

const wordsOf = ({ flags }: OptionRow) => flags.match(/--?[\w-]+/g) ?? [];
const shownOptions = ({ options }: CommandRow) => options.filter(({ hidden }) => !hidden);
const flagsOf = (row: CommandRow) => [...shownOptions(row).flatMap(wordsOf), "--help"].join(" ");

/** The words that may come first. */
const topsOf = (commands: readonly CommandRow[]) => [
  ...new Set(commands.map(({ name }) => name.split(" ")[0] ?? "")),
];

/** The first words that others follow, each with those. */
function groupsOf(commands: readonly CommandRow[]): [string, string[]][] {
  const below = (top: string) =>
    commands.flatMap(({ name }) =>
      name.startsWith(`${top} `) ? [name.slice(top.length + 1)] : [],
    );
  return topsOf(commands)
    .map((top): [string, string[]] => [top, below(top)])
    .filter(([, subs]) => subs.length > 0);
}

/** Those first words as a pattern of `case`. */
const groupPattern = (commands: readonly CommandRow[]) =>
  groupsOf(commands)
    .map(([top]) => top)
    .join("|");

const groupCases = (commands: readonly CommandRow[]): string =>
  groupsOf(commands)
    .map(([top, subs]) => `    '${top}') flags='${subs.join(" ")} --help' ;;`)
    .join("\n");

function cases(commands: readonly CommandRow[]): string {
  return commands
    .map((row) => `    '${row.name}') flags='${flagsOf(row)}' kind=${kindOf(row)} ;;`)
    .join("\n");
}

/** The part that bash and zsh share: what may stand where, by the words before. */
function decide(commands: readonly CommandRow[]): string {
  return `  local flags='' kind=none
  case "$command" in
    '') flags='${topsOf(commands).join(" ")} --help --version' ;;
${groupCases(commands)}
${cases(commands)}
  esac
  case "$before" in -c|--cluster) kind=cluster_name flags='' ;; esac
  case "$word" in
    -*) candidates=$flags ;;
    *) case "$kind" in
      cluster_name|api_request|service_name)
        candidates=$(outrigger complete "$kind" "$word" 2>/dev/null) ;;
      shell) candidates='bash zsh fish' ;;
      none) candidates=$flags ;;
      file) files=1 ;;
    esac ;;
  esac`;
}

function bash(commands: readonly CommandRow[]): string {
  return `# Completion of outrigger for bash: source <(outrigger completion bash)
_outrigger() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local command='' candidates='' files=''
  if [ "$COMP_CWORD" -gt 1 ]; then
    command=\${COMP_WORDS[1]}
    if [ "$COMP_CWORD" -gt 2 ]; then
      case "$command" in ${groupPattern(commands)}) command="$command \${COMP_WORDS[2]}" ;; esac
    fi
  fi
${decide(commands)}
  if [ -n "$files" ]; then COMPREPLY=($(compgen -f -- "$word")); return; fi
  COMPREPLY=($(compgen -W "$candidates" -- "$word"))
}
complete -o filenames -F _outrigger outrigger`;
}

function zsh(commands: readonly CommandRow[]): string {
  return `#compdef outrigger
# Completion of outrigger for zsh: outrigger completion zsh > a folder of your fpath/_outrigger
_outrigger() {
  local word=\${words[CURRENT]} before=\${words[CURRENT-1]}
  local command='' candidates='' files=''
  if [ "$CURRENT" -gt 2 ]; then
    command=\${words[2]}
    if [ "$CURRENT" -gt 3 ]; then
      case "$command" in ${groupPattern(commands)}) command="$command \${words[3]}" ;; esac
    fi
  fi
${decide(commands)}
  if [ -n "$files" ]; then _files; return; fi
  compadd -- \${=candidates}
}
if [ "\${funcstack[1]-}" = _outrigger ]; then _outrigger "$@"; else compdef _outrigger outrigger; fi`;
}

function fish(commands: readonly CommandRow[]): string {
  const lines = commands.flatMap((row) => [
    `complete -c outrigger -f -n '${placeOf(row)}' -a ${row.name.split(" ").at(-1)} -d '${row.summary.replaceAll("'", "\\'")}'`,
    ...shownOptions(row).map(
      (option) => `complete -c outrigger -n '${within(row)}' ${fishFlags(option)}`,
    ),
    ...fishOperands(row),
  ]);
  return [
    "# Completion of outrigger for fish: save as ~/.config/fish/completions/outrigger.fish",
    ...groupsOf(commands).map(
      ([top]) =>
        `complete -c outrigger -f -n __fish_use_subcommand -a ${top} -d '${groupSummaries[top]}.'`,
    ),
    ...lines,
  ].join("\n");
}

const within = ({ name }: CommandRow) =>
  name
    .split(" ")
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join("; and ");

function placeOf({ name }: CommandRow): string {
  const [top, sub] = name.split(" ");
  if (sub === undefined) return "__fish_use_subcommand";
  return `__fish_seen_subcommand_from ${top}; and not __fish_seen_subcommand_from ${sub}`;
}

function fishFlags({ flags, means }: OptionRow): string {
  const [long] = flags.match(/--[\w-]+/) ?? [];
  const [short] = flags.match(/(?<!-)-\w\b/) ?? [];
  const value = flags.includes("<") ? " -r" : "";
  const names = `${short ? `-s ${short.slice(1)} ` : ""}${long ? `-l ${long.slice(2)}` : ""}`;
  return `${names}${value} -d '${means.replaceAll("'", "\\'")}'`;
}

function fishOperands(row: CommandRow): string[] {
  const kind = kindOf(row);
  const ask = `complete -c outrigger -f -n '${within(row)}' -a`;
  if (kind === "file") return [`complete -c outrigger -F -n '${within(row)}'`];
  if (kind === "shell") return [`${ask} 'bash zsh fish'`];
  if (kind === "none") return [];
  return [`${ask} '(outrigger complete ${kind} (commandline -ct) 2>/dev/null)'`];
}
