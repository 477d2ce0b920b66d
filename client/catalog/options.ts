import { collected, wholeNumber } from "../arguments.ts";

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

export const yes: OptionRow = { flags: "-y, --yes", means: "Do not ask." };
export const all: OptionRow = { flags: "-a, --all", means: "All of your clusters." };
export const later: OptionRow = {
  flags: "--async",
  means: "Return at once; print the id of the request on stdout.",
};
export const output: OptionRow = {
  flags: "-o, --output <format>",
  means: "How to print the answer.",
  choices: ["table", "json"],
};
export const clusterOption: OptionRow = { flags: "-c, --cluster <name>", means: "The cluster." };
export const detach: OptionRow = {
  flags: "-d, --detach-run",
  means: "Return once the job is submitted; do not follow its log.",
};

/** Everyone's things; the short form differs between commands people know, so both are taken. */
export const allUsers: readonly OptionRow[] = [
  { flags: "-u, --all-users", means: "Those of everyone, not just yours." },
  { flags: "-a, --everyone", means: "The same.", hidden: true },
];

export const idle: OptionRow = {
  flags: "-i, --idle-minutes-to-autostop <minutes>",
  means: "Stop the cluster after so many idle minutes.",
  parse: wholeNumber(0),
};
export const cancelStop: OptionRow = {
  flags: "--cancel-stop",
  means: "Take an idle stop or teardown back whose hooks still run.",
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
  { flags: "--workdir <folder>", means: "Folder to bring along; the task starts in it." },
  { flags: "--num-nodes <n>", means: "How many nodes.", parse: wholeNumber(1) },
  { flags: "--gpus <gpus>", means: "GPUs of each node: H100, H100:8." },
  {
    flags: "--env <KEY=VALUE>",
    means: "Variable for the task; KEY takes it from here.",
    parse: collected,
  },
  { flags: "--env-file <file>", means: "Variables for the task, a KEY=VALUE a line." },
  {
    flags: "--secret <KEY>",
    means:
      "As --env, but never shown; KEY=VALUE, too, but others may read that in `ps` for a moment.",
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
  { flags: "--infra <where>", means: "Where: local, ssh/lab." },
  { flags: "--cpus <n>", means: "vCPUs of each node: 4, 4+." },
  { flags: "--memory <gb>", means: "Memory of each node in GB: 16, 16+." },
  { flags: "-t, --instance-type <type>", means: "The machine type itself." },
  { flags: "--disk-size <gb>", means: "Disk of each node in GB.", parse: wholeNumber(1) },
  { flags: "--image-id <image>", means: "Image to start from: docker:ubuntu:24.04." },
  { flags: "--ports <port>", means: "Port to open; may be repeated.", parse: collected },
  { flags: "--use-spot", means: "Take machines that may be taken back." },
  { flags: "--no-use-spot", means: "Do not.", hidden: true },
];

/** To follow is the default; saying so is taken, too. */
export const noFollow: readonly OptionRow[] = [
  { flags: "--no-follow", means: "What there is now, then end." },
  { flags: "-f, --follow", means: "Go on until it ends; the default." },
];

export const tail: OptionRow = {
  flags: "--tail <lines>",
  means: "Only the last lines.",
  parse: wholeNumber(0),
};

/** How commands that follow a job end. */
export const jobExits =
  "Exits with the job's own ending: 0 succeeded, 100 failed, 101 not finished, 102 not found, " +
  "103 cancelled. Ctrl-C leaves the job alone.";
