import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { jobExitCodes } from "../../contract/statuses.ts";
import type { Ended } from "./command.ts";

/** One command of the existing client, and what must come of it. */
export interface Step {
  readonly args: readonly string[];
  readonly exitCode: number;
  readonly shows: readonly RegExp[];
  /** A file below the client's home that holds this text afterwards; a pattern may name it. */
  readonly brings?: { readonly file: string; readonly text: string };
  /** Whether it is repeated for a while until this comes of it. */
  readonly isPatient?: boolean;
}

type More = Partial<Pick<Step, "exitCode" | "brings" | "isPatient">>;

/** A command as one types it. */
export const step = (line: string, shows: readonly RegExp[], more: More = {}): Step => ({
  args: line.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", "")) ?? [],
  exitCode: 0,
  shows,
  ...more,
});

/** What the cluster's first job prints. */
const knownLine = "hello from the outrigger interop run";

/** The tasks that are launched and their files, by the names of their files. */
export const taskFiles: Readonly<Record<string, string>> = {
  "task.yaml": `run: echo ${knownLine}\n`,
  "values.yaml": `name: values
envs: {GREETING: moin}
secrets: {TOKEN: nobody-may-see}
run: echo "$GREETING, \${#TOKEN} letters"
`,
  "project/hello.txt": "hello from a file\n",
  "project/sub/run.sh": "cat hello.txt ~/mounted/note.txt\n",
  "note.txt": "hello from a mount\n",
  "files.yaml": `workdir: project
file_mounts: {~/mounted/note.txt: note.txt}
run: bash sub/run.sh
`,
  "broken.yaml": "run: [not closed\n",
  "misspelt.yaml": "run: echo never\nresorces: {cpus: 1}\n",
};

const failed: More = { exitCode: 1 };
const notFound: More = { exitCode: jobExitCodes.NOT_FOUND };
const ofJobOne = { file: "sky_logs/it-1/run.log", text: `${knownLine}\n` };

/** The life of one cluster, as a user of the existing client lives it; steps of one row meet. */
export const stepsAgainst = (url: string): Step[][] => [
  [step(`api login -e ${url}`, [/Logged into/])],
  [
    step("api info", [/HEALTHY/]),
    step("status", [/No existing clusters/, /No in-progress managed jobs/, /No existing services/]),
    step("check", [/^local: local \(/m]),
  ],
  [step("launch -y -c it task.yaml", [new RegExp(knownLine), /Job ID: 1/])],
  [
    step("logs it 1", [new RegExp(knownLine)]),
    step("logs it 1 --status", [/Job 1: SUCCEEDED/]),
    step("logs it 1 -s", [/Job 1 logs: /], { brings: ofJobOne }),
  ],
  [step("exec it 'echo second'", [/second/])],
  [step("exec it 'exit 3'", [], { exitCode: jobExitCodes.FAILED })],
  [step("launch -y -c it values.yaml", [/moin, 14 letters/, /Job ID: 4/])],
  [step("exec -d it 'sleep 600'", [/Job submitted, ID: 5/])],
  [step("cancel -y it 5", [/Job 5 is CANCELLED/])],
  [
    step("queue it", [1, 2, 4].map(rowOf("SUCCEEDED")).concat(rowOf("FAILED")(3))),
    step("logs it 5 --status", [/Job 5: CANCELLED/], { exitCode: jobExitCodes.CANCELLED }),
    step("status it", [/^it .*\bUP +- /m]),
  ],
  [
    step("launch -y -c it files.yaml", [
      /hello from a file\n.*hello from a mount/,
      /workdir: 2 of 2 files changed, 51 bytes/,
    ]),
  ],
  [
    step("exec it --workdir project 'cat hello.txt'", [
      /hello from a file/,
      /workdir: 2 files, none changed/,
    ]),
  ],
  [step("autostop -y it -i 5", [/autostopped after 5 minutes of idleness/])],
  [step("status it", [/^it .*\bUP +5m /m]), step("cost-report", [/^it .*\$ 0\.00/m])],
  [step("autostop -y it --cancel", [/Cancelling auto.* on cluster 'it'\.\.\.done/])],
  [
    step("status it", [/^it .*\bUP +- /m]),
    step("logs --autostop it", [/cluster it has run no hook of autostop/], notFound),
    step("launch -y -c none --dryrun task.yaml", [/^Cluster none: 1 node on local/m]),
    step("launch -y -c none --gpus H100:99 true", [/nothing offers H100:99/], failed),
    step("launch -y -c none broken.yaml", [/YAML Error: .*/, /line 1, column 6/], failed),
    step("launch -y -c none misspelt.yaml", [/did you mean 'resources'/], failed),
  ],
  [step("stop -y it", [/Stopping cluster it\.\.\.done/])],
  [step("status it", [/^it .*\bSTOPPED\b/m])],
  [step("start -y it", [/Cluster it started/])],
  [step("status it", [/^it .*\bUP\b/m])],
  [step("down -y it", [/Terminating cluster it\.\.\.done/])],
  [
    step("status", [/No existing clusters/]),
    step("logs nowhere", [/nowhere/], failed),
    step("api status -a", [/\bsky\.down .*SUCCEEDED/, /\bsky\.launch .*FAILED/]),
  ],
];

/** What must come of letting the client decode our encodings: silence. */
export const decoding: Step = { args: [], exitCode: 0, shows: [] };

/** What is wrong with how a step of a client with this home ended, or undefined. */
export function faultOf(step: Step, { exitCode, text }: Ended, home: string): string | undefined {
  if (exitCode !== step.exitCode) return `exit code ${exitCode}, not ${step.exitCode}`;
  const missing = step.shows.find((pattern) => !pattern.test(text));
  if (missing !== undefined) return `the output lacks ${missing}`;
  if (text.includes("Traceback")) return "a traceback";
  return step.brings && faultOfFile(join(home, step.brings.file), step.brings.text);
}

function faultOfFile(pattern: string, wanted: string): string | undefined {
  const files = globSync(pattern);
  if (files.length === 0) return `there is no ${pattern}`;
  const isThere = files.some((file) => readFileSync(file, "utf8").includes(wanted));
  return isThere ? undefined : `${pattern} holds something else`;
}

/** The row of a job in the table of jobs. */
function rowOf(status: string): (jobId: number) => RegExp {
  return (jobId) => new RegExp(`^${jobId} .*${status}`, "m");
}
