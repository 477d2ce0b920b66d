import { wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import type { CommandRow } from "./row.ts";

const jobs = "Jobs:";
const insight = "Insight:";

/** Commands about jobs, and about what happened. */
export const jobCommands: readonly CommandRow[] = [
  {
    name: "queue",
    group: jobs,
    operands: "[clusters...]",
    summary: "List the jobs of clusters.",
    options: [
      { flags: "-s, --skip-finished", means: "Leave out jobs that ended." },
      ...option.allUsers,
      option.output,
    ],
    more: "Without names: every cluster of yours that is up.",
    load: async () => (await import("../commands/queue.ts")).queue,
  },
  {
    name: "logs",
    group: jobs,
    operands: "[cluster] [jobs...]",
    summary: "Follow the log of a job; of the latest one when none is named.",
    options: [
      ...option.noFollow,
      option.tail,
      { flags: "--status", means: "Print the job's status instead." },
      {
        flags: "-s, --sync-down",
        means: "Write the logs to files below ~/outrigger_logs instead.",
      },
      { flags: "--provision", means: "The log of the latest launch instead." },
      { flags: "--worker <rank>", means: "With --provision: of this node.", parse: wholeNumber(0) },
      {
        flags: "--hook [event]",
        means: "The log of the hooks for stop, preemption or down instead; else of the newest.",
      },
      {
        flags: "--autostop",
        means: "The log of the hooks of the latest idle stop or teardown instead.",
      },
      { ...option.output, means: "With --status: how to print it." },
    ],
    more: `${option.jobExits}

Logs of hooks can be read while they run, and once the cluster is stopped or gone. With --hook a word that is alone names the cluster; of two words the one that is no event does, or the last one.

Examples:
  outrigger logs dev                                the latest job
  outrigger logs --hook dev                         the hooks that run, or ran last
  outrigger logs --hook down dev                    those that ran before it was taken down
  outrigger logs --hook stop stop                   those of a cluster that is named stop`,
    load: async () => (await import("../commands/logs.ts")).logs,
  },
  {
    name: "download",
    group: jobs,
    operands: "<cluster:path> [local]",
    summary: "Fetch a file or folder from a node; only what is not here yet is sent.",
    options: [
      { flags: "--rank <n>", means: "Of which node; 0 is the head.", parse: wholeNumber(0) },
    ],
    more: `PATH is below the folder that jobs start in; ~/PATH is below the node's home. A folder becomes LOCAL, a file LOCAL or a file in it; without LOCAL it comes here by its own name. What lies here besides stays. A download that broke off goes on where it was.

Examples:
  outrigger download dev:results                    to ./results
  outrigger download dev:results/model.pt models/   to models/model.pt
  outrigger download dev:~/logs logs --rank 1       from the second node`,
    load: async () => (await import("../commands/download.ts")).download,
  },
  {
    name: "cancel",
    group: jobs,
    operands: "<cluster> [jobs...]",
    summary: "Cancel jobs; your latest running one when none is named.",
    options: [
      { flags: "-a, --all", means: "All of your jobs on the cluster." },
      { flags: "-u, --all-users", means: "All jobs of everyone on the cluster." },
      option.yes,
      option.later,
    ],
    more: "With job ids it asks only on a terminal; otherwise it wants a terminal or -y.",
    load: async () => (await import("../commands/cancel.ts")).cancel,
  },
  {
    name: "events",
    group: insight,
    operands: "[cluster]",
    summary: "What happened to a cluster, also to one that is gone.",
    options: [
      { flags: "-n, --limit <n>", means: "Only the newest.", parse: wholeNumber(1) },
      { flags: "--debug", means: "The finer events, too." },
      option.output,
    ],
    load: async () => (await import("../commands/events.ts")).events,
  },
  {
    name: "cost-report",
    group: insight,
    summary: "What live and past clusters cost.",
    options: [
      { flags: "--days <n>", means: "How far back; 30 when absent.", parse: wholeNumber(1) },
      { flags: "-a, --all", means: "As far back as is known." },
      option.output,
    ],
    load: async () => (await import("../commands/cost-report.ts")).costReport,
  },
  {
    name: "check",
    group: insight,
    operands: "[infra...]",
    summary: "Check which infrastructure can be used.",
    options: [{ flags: "-v, --verbose", means: "Say why." }, option.output],
    load: async () => (await import("../commands/check.ts")).check,
  },
];
