import type { OptionRow } from "./catalog/options.ts";
import type { CommandRow } from "./catalog/row.ts";

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
  [/^\[entrypoint\b/, "file"],
  [/^<shell>/, "shell"],
];

const kindOf = ({ operands = "" }: CommandRow) =>
  operandKinds.find(([pattern]) => pattern.test(operands))?.[1] ?? "none";

const wordsOf = ({ flags }: OptionRow) => flags.match(/--?[\w-]+/g) ?? [];
const shownOptions = ({ options }: CommandRow) => options.filter(({ hidden }) => !hidden);
const flagsOf = (row: CommandRow) => [...shownOptions(row).flatMap(wordsOf), "--help"].join(" ");

/** The words that may come first, and below which of them others follow. */
function treeOf(commands: readonly CommandRow[]) {
  const tops = [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? ""))];
  const subs = commands.flatMap(({ name }) => {
    const [top, sub] = name.split(" ");
    return sub === undefined ? [] : [{ top, sub }];
  });
  return { tops, subs: subs.map(({ sub }) => sub), parent: subs[0]?.top ?? "" };
}

function cases(commands: readonly CommandRow[]): string {
  return commands
    .map((row) => `    '${row.name}') flags='${flagsOf(row)}' kind=${kindOf(row)} ;;`)
    .join("\n");
}

/** The part that bash and zsh share: what may stand where, by the words before. */
function decide(commands: readonly CommandRow[]): string {
  const { tops, subs, parent } = treeOf(commands);
  return `  local flags='' kind=none
  case "$command" in
    '') flags='${tops.join(" ")} --help --version' ;;
    '${parent}') flags='${subs.join(" ")} --help' ;;
${cases(commands)}
  esac
  case "$before" in -c|--cluster) kind=cluster_name flags='' ;; esac
  case "$word" in
    -*) candidates=$flags ;;
    *) case "$kind" in
      cluster_name|api_request)
        candidates=$(outrigger complete "$kind" "$word" 2>/dev/null) ;;
      shell) candidates='bash zsh fish' ;;
      none) candidates=$flags ;;
      file) files=1 ;;
    esac ;;
  esac`;
}

function bash(commands: readonly CommandRow[]): string {
  const { parent } = treeOf(commands);
  return `# Completion of outrigger for bash: source <(outrigger completion bash)
_outrigger() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local command='' candidates='' files=''
  if [ "$COMP_CWORD" -gt 1 ]; then
    command=\${COMP_WORDS[1]}
    if [ "$command" = '${parent}' ] && [ "$COMP_CWORD" -gt 2 ]; then
      command="$command \${COMP_WORDS[2]}"
    fi
  fi
${decide(commands)}
  if [ -n "$files" ]; then COMPREPLY=($(compgen -f -- "$word")); return; fi
  COMPREPLY=($(compgen -W "$candidates" -- "$word"))
}
complete -o filenames -F _outrigger outrigger`;
}

function zsh(commands: readonly CommandRow[]): string {
  const { parent } = treeOf(commands);
  return `#compdef outrigger
# Completion of outrigger for zsh: outrigger completion zsh > a folder of your fpath/_outrigger
_outrigger() {
  local word=\${words[CURRENT]} before=\${words[CURRENT-1]}
  local command='' candidates='' files=''
  if [ "$CURRENT" -gt 2 ]; then
    command=\${words[2]}
    if [ "$command" = '${parent}' ] && [ "$CURRENT" -gt 3 ]; then
      command="$command \${words[3]}"
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
    "complete -c outrigger -f -n __fish_use_subcommand -a api -d 'The control plane itself.'",
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
