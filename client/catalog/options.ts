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

export const yes: OptionRow = { flags: "-y, --yes", means: "Do not ask for confirmation." };
export const all: OptionRow = { flags: "-a, --all", means: "All of your clusters." };
export const ignoreNotFound: OptionRow = {
  flags: "--ignore-not-found",
  means: "Succeed if a name or pattern matches nothing.",
};
export const later: OptionRow = {
  flags: "--async",
  means: "Return immediately; print the id of the request on stdout.",
};
export const output: OptionRow = {
  flags: "-o, --output <format>",
  means: "Output format.",
  choices: ["table", "json"],
};
/** Of commands that print records. */
export const outputs: readonly OptionRow[] = [
  output,
  {
    flags: "--fields <names>",
    means: "Print only these fields, as JSON: name,status.",
    parse: (text) => text.split(",").map((name) => name.trim()),
  },
];
/** How what a log says is printed. */
export const logLines: readonly OptionRow[] = [
  {
    flags: "--grep <pattern>",
    means: "Show only lines that match this regular expression.",
    parse: patternOf,
  },
  { ...output, means: "Output format; json prints one object per line." },
];
/** When the lines of a log were written. */
export const logInstants: readonly OptionRow[] = [
  {
    flags: "--since <when>",
    means: "Show only lines from then on: 10m ago, or an RFC 3339 time.",
    parse: (text: string) => pastOf(text).getTime() / 1_000,
  },
  { flags: "--timestamps", means: "Show when each line began, to the second." },
];
export const watch: OptionRow = {
  flags: "-w, --watch",
  means: "Show it anew after each change, until Ctrl-C.",
};
export const timeout: OptionRow = {
  flags: "--timeout <duration>",
  means: "Wait no longer: 90s, 10m, 2h. The work continues; exits with 6.",
  parse: durationOf,
};
/** Of commands that follow a job. */
export const followingOutput: OptionRow = {
  ...output,
  means: "Output format; with json, no job is followed.",
};
/** Of commands that have no answer of their own. */
export const errorOutput: OptionRow = {
  ...output,
  means: "json: print errors as JSON, on the last line of stderr.",
};
export const clusterOption: OptionRow = { flags: "-c, --cluster <name>", means: "The cluster." };
export const workspaceOption: OptionRow = {
  flags: "--workspace <name>",
  means: "Workspace to launch in.",
};
export const detach: OptionRow = {
  flags: "-d, --detach-run",
  means: "Return once the job is submitted; do not follow its log.",
};

/** Everyone's things; the short form differs between commands people know, so both are taken. */
export const allUsers: readonly OptionRow[] = [
  { flags: "-u, --all-users", means: "Include those of all users." },
  { flags: "-a, --everyone", means: "The same.", hidden: true },
];

export const idle: OptionRow = {
  flags: "-i, --idle-minutes-to-autostop <minutes>",
  means: "Stop the cluster after this many idle minutes.",
  parse: wholeNumber(0),
};
export const cancelStop: OptionRow = {
  flags: "--cancel-stop",
  means: "Cancel an idle stop or teardown whose hooks still run.",
};
export const retry: OptionRow = {
  flags: "-r, --retry-until-up",
  means: "Keep trying until there is capacity.",
};
export const waitFor: OptionRow = {
  flags: "--wait-for <activity>",
  means: "What keeps a cluster from being idle.",
  choices: ["jobs_and_ssh", "jobs", "none"],
};

/** What a command line may change about the task that it brings. */
export const taskChanges: readonly OptionRow[] = [
  { flags: "--workdir <folder>", means: "Folder to upload; the task starts in it." },
  { flags: "--num-nodes <n>", means: "Number of nodes.", parse: wholeNumber(1) },
  { flags: "--gpus <gpus>", means: "GPUs of each node: H100, H100:8." },
  {
    flags: "--env <KEY=VALUE>",
    means: "Variable for the task; KEY alone takes its value from your environment.",
    parse: collected,
  },
  {
    flags: "--env-file <file>",
    means: "File with variables for the task, one KEY=VALUE per line.",
  },
  {
    flags: "--secret <KEY>",
    means:
      "As --env, but never shown. With KEY=VALUE, other users may see the value briefly in `ps`.",
    parse: collected,
  },
  { flags: "--secret-file <file>", means: "As --env-file, but never shown." },
];

/** What `launch` and `exec` may change about the task. */
export const taskOptions: readonly OptionRow[] = [
  { flags: "-n, --name <name>", means: "Name of the task." },
  ...taskChanges,
];

/** What only `launch` and services may say about the machines. */
export const machineOptions: readonly OptionRow[] = [
  { flags: "--infra <where>", means: "Where to run: local, ssh/lab." },
  { flags: "--cpus <n>", means: "vCPUs of each node: 4, 4+." },
  { flags: "--memory <gb>", means: "Memory of each node in GB: 16, 16+." },
  { flags: "-t, --instance-type <type>", means: "Machine type." },
  { flags: "--disk-size <gb>", means: "Disk of each node in GB.", parse: wholeNumber(1) },
  { flags: "--image-id <image>", means: "Image to start from: docker:ubuntu:24.04." },
  { flags: "--ports <port>", means: "Port to open; repeatable.", parse: collected },
  { flags: "--use-spot", means: "Use spot machines, which the provider may take back." },
  { flags: "--no-use-spot", means: "Do not.", hidden: true },
];

/** To follow is the default; saying so is taken, too. */
export const noFollow: readonly OptionRow[] = [
  { flags: "--no-follow", means: "Print what is there now, then exit." },
  { flags: "-f, --follow", means: "Follow until it ends; the default." },
];

export const tail: OptionRow = {
  flags: "--tail <lines>",
  means: "Print only the last lines.",
  parse: wholeNumber(0),
};

/** How commands that follow a job end. */
export const jobExits =
  "The exit code is the outcome of the job: 0 succeeded, 100 failed, 101 not finished, 102 not found, " +
  "103 cancelled. Ctrl-C does not stop the job.";
