import { outputs } from "../../client/output/table.ts";
import { code, page, table } from "./markdown.ts";

/** What programs may rely on when they run commands. */
export const machineOutputPage = (): string =>
  page(
    "Output for programs",
    "bin/docs/machine-output.ts and client/output/table.ts",
    answers,
    table(["Commands", "Schema"], outputs.map(rowOf)),
    errors,
  );

const rowOf = ({ name, printedBy, isLines }: (typeof outputs)[number]): string[] => [
  name === "error" ? "any that fails, on stderr" : printedBy.map(code).join(", "),
  `[${name}](schemas/${name}.json)${isLines ? ", one object a line" : ""}`,
];

const answers = `Every command takes \`-o json\`. The answer is then JSON on stdout, and a failure is JSON on stderr. Schemas of both are
in [\`docs/schemas/\`](schemas/).

## Answers

\`\`\`sh
outrigger status -o json                          # everything
outrigger queue dev --fields id,status            # these fields alone, as JSON
outrigger events -f -o json                       # one object a line
outrigger logs dev --since 10m -o json            # one object a line, with the time it began
\`\`\`

- The same thing has the same name in every command. A thing's own fields are \`id\`, \`name\` and \`status\`; other commands
  refer to it as \`cluster\`, \`job_id\` or \`request_id\`. \`user\` is a user's name.
- Instants are RFC 3339 in UTC and end in \`_at\` or \`_since\`; durations end in \`_seconds\`. Numbers are numbers.
- A field that has no value is \`null\`; it is never left out.
- Lists are arrays, also when they are empty. With \`-w\` and \`-f\`, each state or event is one line (JSON Lines).
- Commands that do something (\`launch\`, \`stop\`, \`serve up\`) print what they did, an object for each thing they did it
  to, with the id of the request. \`launch\` and \`exec\` then do not follow the job: use \`logs\`, or \`logs --status\`.
- \`--timeout 10m\` limits how long a command waits. The work continues on the control plane; the command exits with 6.`;

const errors = `\`shell\`, \`sidecar\`, \`completion\` and \`api start --foreground\` have no answer of their own; their errors are JSON, too.

## Errors

A command that fails with \`-o json\` prints nothing on stdout that is not part of an answer, and writes the error as one
line of JSON. It is always the last line of stderr; lines before it show progress and are not meant for programs.

\`\`\`json
{"error":{"code":"ClusterDoesNotExist","message":"there is no cluster dev; status lists them","hint":"outrigger status -u lists clusters","request_id":null,"exit_code":3,"retryable":false}}
\`\`\`

- \`code\` is an error type from [exit codes](exit-codes.md), or \`Declined\` if you answered a question with no.
- \`request_id\` names the request on the control plane that failed, if there was one: \`outrigger api logs ID\`.
- \`retryable\` means that the same command may succeed later.

The schema is [\`error.json\`](schemas/error.json). Ctrl-C (130) and the end of a job that a command followed (100 to 103)
are not errors, and have no such line; a job that does not exist (102) has one.`;
