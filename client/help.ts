import { commands } from "./catalog.ts";

const helpFlags = new Set(["-h", "--help"]);
const notePlace = "      ";
/** Between an example and its note. */
const gap = 3;

/** What the words are about that only group others. */
export const groupSummaries: Readonly<Record<string, string>> = {
  api: "The control plane itself",
  agent: "The agent of this machine",
  gpus: "Accelerators, their users and prices",
  recipes: "Task files that a team shares",
  secrets: "Stored secrets that tasks use",
  storage: "Buckets that tasks create",
  volumes: "Folders and file systems that outlive clusters",
  ssh: "Your own machines",
  context: "Control planes by name",
  config: "Settings of this command line",
  serve: "Services: replicas behind one address",
  jobs: "Managed jobs: run to completion even if machines fail",
  "jobs pool": "Workers that are kept warm for managed jobs",
  users: "Users, their roles and passwords",
  tokens: "Tokens of service accounts",
  workspaces: "Members, infrastructure and limits",
};

/** What a group of words is taken for and is not. */
export const groupNotes: Readonly<Record<string, string>> = {
  ssh: "This is not SSH to a cluster. To open a shell: outrigger shell CLUSTER",
};

/** Words that other tools have for what ours call otherwise, and the command for each. */
export const otherWords: Readonly<Record<string, string>> = {
  ls: "status",
  list: "status",
  ps: "queue",
  run: "launch",
  up: "launch",
  submit: "exec",
  kill: "cancel",
  delete: "down",
  rm: "down",
  cp: "download",
};

export const examples = `
Examples:
  outrigger api start                               start a control plane on this machine
  outrigger launch -c dev 'echo hello'              create a cluster and run a job on it
  outrigger exec dev task.yaml                      run another job
  outrigger logs dev                                print its log
  outrigger status                                  list clusters
  outrigger down dev                                delete the cluster
  outrigger serve up service.yaml                   serve a model behind one address

Results go to stdout, everything else to stderr. NO_COLOR turns colors off.
Commands use the control plane of your home (OUTRIGGER_HOME), unless a context or OUTRIGGER_ENDPOINT names another.
Exit codes: 1 failed, 2 usage, 3 not found, 4 not allowed, 5 conflict, 6 time-out, 7 unavailable; 100 to 103: the outcome of a followed job.`;

/**
 * The words to parse: `help stop` is `stop --help`, and a wish for help about a command that there is not is
 * dropped, and refused so.
 */
export function knownWords(given: readonly string[]): readonly string[] {
  if (given[0] === "help") return knownWords([...given.slice(1), "--help"]);
  const words = withOurVerb(given);
  return namesCommand(words) ? words : words.filter((word) => !helpFlags.has(word));
}

/** Verbs of groups that are taken for one another. */
const sameVerbs: Readonly<Record<string, string>> = {
  ls: "list",
  list: "ls",
  rm: "delete",
  delete: "rm",
};

/** `users ls` is `users list`, as only one of the two exists. */
function withOurVerb(words: readonly string[]): readonly string[] {
  const [group = "", verb = "", ...others] = words;
  const isCommand = (one: string) => commands.some(({ name }) => name === `${group} ${one}`);
  const ours = Object.hasOwn(sameVerbs, verb) ? (sameVerbs[verb] ?? verb) : verb;
  return !isCommand(verb) && isCommand(ours) ? [group, ours, ...others] : words;
}

function namesCommand([first = "-", second = "-"]: readonly string[]): boolean {
  const isOption = second.startsWith("-");
  return (
    first.startsWith("-") ||
    commands.some(
      ({ name }) =>
        name === first ||
        `${name} `.startsWith(`${first} ${second} `) ||
        (isOption && name.startsWith(`${first} `)),
    )
  );
}

const exampleLine = /^( {2,}\S.*?) {2,}(\S.*)$/;

/** Help text that fits the width; the notes of examples are all beside them, or all below. */
export function wrap(text: string, width: number): string {
  const blocks: string[][] = [];
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    if (last?.every((one) => exampleLine.test(one)) && exampleLine.test(line)) last.push(line);
    else blocks.push([line]);
  }
  return blocks.flatMap((lines) => wrapBlock(lines, width)).join("\n");
}

/** Examples that stand one below the other, or one line of another kind. */
function wrapBlock(lines: readonly string[], width: number): string[] {
  const rows = lines.map((line) => exampleLine.exec(line) ?? [line, line]);
  const column = Math.max(...rows.map(([, example = ""]) => example.length)) + gap;
  const isBeside = rows.every(([, , note = ""]) => column + note.length <= width);
  return rows.flatMap(([line = "", example = "", note]) => {
    if (note === undefined) return line.startsWith(" ") ? [line] : fill(line.split(" "), "", width);
    if (isBeside) return [example.padEnd(column) + note];
    return [example, ...fill(note.split(" "), notePlace, width)];
  });
}

/** The words in lines as full as the width allows, each behind the indent. */
function fill(words: readonly string[], indent: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(indent + word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
