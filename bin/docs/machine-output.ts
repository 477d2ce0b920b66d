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

const answers = `Every command accepts \`-o json\`. Results are then JSON on stdout, and errors are JSON on stderr.
Schemas of both are in [\`docs/schemas/\`](schemas/).

## Answers

\`\`\`sh
outrigger status -o json                          # everything
outrigger queue dev --fields id,status            # these fields alone, as JSON
outrigger events -f -o json                       # one object per line
outrigger logs dev --since 10m -o json            # one object per line, with the time at which the line began
\`\`\`

- A field has the same name in every command. A resource's own fields are called \`id\`, \`name\` and \`status\`; where
  the output of another command refers to it, the field is \`cluster\`, \`job_id\` or \`request_id\`. \`user\` is a
  user's name.
- Instants are RFC 3339 in UTC and end in \`_at\` or \`_since\`; durations end in \`_seconds\`. Numbers are JSON
  numbers, never strings.
- A field that has no value is \`null\`; it is never left out.
- Lists are arrays, also when they are empty. With \`-w\` and \`-f\`, each state or event is one line (JSON Lines).
- Commands that change something (\`launch\`, \`stop\`, \`serve up\`) print one object per affected resource, with the
  id of the request. With \`-o json\`, \`launch\` and \`exec\` do not follow the job; use \`logs\` or \`logs --status\`
  instead.
- \`--timeout 10m\` limits how long a command waits. The work continues on the control plane; the command exits with 6.`;

const errors = `\`shell\`, \`sidecar\`, \`completion\` and \`api start --foreground\` print no JSON results; their
errors are JSON, too.

## Errors

If a command with \`-o json\` fails, stdout contains only results, if any. The error is one line of JSON, always the
last line of stderr; lines before it show progress and are not meant for programs.

\`\`\`json
{"error":{"code":"ClusterDoesNotExist","message":"there is no cluster dev; status lists them","hint":"outrigger status -u lists clusters","request_id":null,"exit_code":3,"retryable":false}}
\`\`\`

- \`code\` is an error type from [exit codes](exit-codes.md), or \`Declined\` if you answered no at a prompt.
- \`request_id\` names the request on the control plane that failed, if there was one: \`outrigger api logs ID\`.
- \`retryable\` means that the same command may succeed later.

The schema is [\`error.json\`](schemas/error.json). No error is written if you press Ctrl-C (130), or if a job that a
command followed did not succeed (100, 101 or 103). If the job does not exist (102), one is written.`;
