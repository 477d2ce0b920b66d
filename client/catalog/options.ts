import { collected, durationOf, pastOf, patternOf, wholeNumber } from "../arguments.ts";

/** Reads the value of an option, given what was read for it before; throws `UsageError`. */
export type Parse = (text: string, before: unknown) => unknown;

/** An option of a command, as help, parsing and completion read it. */
export interface OptionRow {
  readonly flags: string;
  readonly means: string;
  readonly parse?: Parse;
  readonly choices?: readonly string[];
  readonly hidden?: true;
}

/** Options of a command: what each means, by its flags. */
export type Options = Readonly<Record<string, string | Omit<OptionRow, "flags">>>;

/** The rows of options. */
export const rowsOf = (options: Options): OptionRow[] =>
  Object.entries(options).map(([flags, option]) =>
    typeof option === "string" ? { flags, means: option } : { flags, ...option },
  );

/** Whether shared options are among the rows of a command. */
export const includes = (rows: readonly OptionRow[], shared: Options): boolean =>
  rowsOf(shared).every((one) =>
    rows.some(({ flags, means }) => flags === one.flags && means === one.means),
  );

export const yes = { "-y, --yes": "Do not ask for confirmation." };
export const all = { "-a, --all": "All of your clusters." } as const satisfies Options;
export const ignoreNotFound = {
  "--ignore-not-found": "Succeed if a name or pattern matches nothing.",
} as const satisfies Options;
export const later = {
  "--async": "Return immediately; print the id of the request on stdout.",
} as const satisfies Options;
const outputAs = (means: string) =>
  ({ "-o, --output <format>": { means, choices: ["table", "json"] } }) as const satisfies Options;
export const output = outputAs("Output format.");
/** Of commands that print records. */
export const outputs = {
  ...output,
  "--fields <names>": {
    means: "Print only these fields, as JSON: name,status.",
    parse: (text) => text.split(",").map((name) => name.trim()),
  },
} as const satisfies Options;
/** How what a log says is printed. */
export const logLines = {
  "--grep <pattern>": {
    means: "Show only lines that match this regular expression.",
    parse: patternOf,
  },
  ...outputAs("Output format; json prints one object per line."),
} as const satisfies Options;
/** When the lines of a log were written. */
export const logInstants = {
  "--since <when>": {
    means: "Show only lines from then on: 10m ago, or an RFC 3339 time.",
    parse: (text: string) => pastOf(text).getTime() / 1_000,
  },
  "--timestamps": "Show when each line began, to the second.",
} as const satisfies Options;
export const watch = { "-w, --watch": "Show it again after each change, until Ctrl-C." };
export const timeout = {
  "--timeout <duration>": {
    means: "Wait no longer: 90s, 10m, 2h. The work continues; exits with 6.",
    parse: durationOf,
  },
} as const satisfies Options;
/** Of commands that follow a job. */
export const followingOutput = outputAs("Output format; with json, no job is followed.");
/** Of commands that have no answer of their own. */
export const errorOutput = outputAs("json: print errors as JSON, on the last line of stderr.");
export const clusterOption = { "-c, --cluster <name>": "The cluster." };
export const workspaceOption = {
  "--workspace <name>": "Workspace to launch in.",
} as const satisfies Options;
export const detach = {
  "-d, --detach-run": "Return once the job is submitted; do not follow its log.",
} as const satisfies Options;

/** Everyone's things; the short form differs between commands people know, so both are taken. */
export const allUsers = {
  "-u, --all-users": "Include those of all users.",
  "-a, --everyone": { means: "The same.", hidden: true },
} as const satisfies Options;

export const idle = {
  "-i, --idle-minutes-to-autostop <minutes>": {
    means: "Stop the cluster after this many idle minutes.",
    parse: wholeNumber(0),
  },
} as const satisfies Options;
export const cancelStop = {
  "--cancel-stop": "Cancel an idle stop or teardown whose hooks still run.",
} as const satisfies Options;
export const retry = { "-r, --retry-until-up": "Keep trying until there is capacity." };
export const waitFor = {
  "--wait-for <activity>": {
    means: "What keeps a cluster from being idle.",
    choices: ["jobs_and_ssh", "jobs", "none"],
  },
} as const satisfies Options;

/** What a command line may change about the task that it brings. */
export const taskChanges = {
  "--workdir <folder>": "Folder to upload; the task starts in it.",
  "--num-nodes <n>": { means: "Number of nodes.", parse: wholeNumber(1) },
  "--gpus <gpus>": "GPUs of each node: H100, H100:8.",
  "--env <KEY=VALUE>": {
    means: "Variable for the task; KEY alone takes its value from your environment.",
    parse: collected,
  },
  "--env-file <file>": "File with variables for the task, one KEY=VALUE per line.",
  "--secret <KEY>": {
    means:
      "As --env, but never shown. With KEY=VALUE, other users may see the value briefly in `ps`.",
    parse: collected,
  },
  "--secret-file <file>": "As --env-file, but never shown.",
} as const satisfies Options;

/** What `launch` and `exec` may change about the task. */
export const taskOptions = { "-n, --name <name>": "Name of the task.", ...taskChanges };

/** What only `launch` and services may say about the machines. */
export const machineOptions = {
  "--infra <where>": "Where to run: local, ssh/lab.",
  "--cpus <n>": "vCPUs of each node: 4, 4+.",
  "--memory <gb>": "Memory of each node in GB: 16, 16+.",
  "-t, --instance-type <type>": "Machine type.",
  "--disk-size <gb>": { means: "Disk of each node in GB.", parse: wholeNumber(1) },
  "--image-id <image>": "Image to start from: docker:ubuntu:24.04.",
  "--ports <port>": { means: "Port to open; repeatable.", parse: collected },
  "--use-spot": "Use spot machines, which the provider may take back.",
  "--no-use-spot": { means: "Do not.", hidden: true },
} as const satisfies Options;

/** To follow is the default; saying so is taken, too. */
export const noFollow = {
  "--no-follow": "Print what is there now, then exit.",
  "-f, --follow": "Follow until it ends; the default.",
} as const satisfies Options;

export const tail = {
  "--tail <lines>": { means: "Print only the last lines.", parse: wholeNumber(0) },
} as const satisfies Options;

/** How commands that follow a job end. */
export const jobExits =
  "The exit code is the outcome of the job: 0 succeeded, 100 failed, 101 not finished, 102 not found, " +
  "103 cancelled. Ctrl-C does not stop the job.";
