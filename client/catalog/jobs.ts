import { groupOf, wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const jobs = "Jobs:";
/** Commands about jobs, and about what happened. */
export const jobCommands = inGroup("Insight:", {
  queue: {
    group: jobs,
    operands: "[clusters...]",
    summary: "List the jobs of clusters.",
    options: {
      "-s, --skip-finished": "Omit jobs that have ended.",
      "-l, --limit <n>": { means: "Only the newest of each cluster.", parse: wholeNumber(1) },
      ...option.watch,
      ...option.allUsers,
      ...option.outputs,
    },
    more: `Without names, it lists the jobs of all your clusters that are up.

Examples:
  outrigger queue dev                             its jobs, newest first
  outrigger queue dev -s -w                       those that wait or run, shown again after each change
  outrigger queue dev -l 20 --fields id,status    as JSON, for scripts`,
  },
  logs: {
    group: jobs,
    operands: "[cluster] [jobs...]",
    summary: "Follow the log of a job; by default the latest one.",
    options: {
      ...option.noFollow,
      ...option.tail,
      "--status": "Print the job's status instead.",
      "-s, --sync-down": "Write the logs to files below ~/outrigger_logs instead.",
      "--provision": "Print the log of the latest launch instead.",
      "--worker <rank>": { means: "With --provision: only this node.", parse: wholeNumber(0) },
      "--hook [event]":
        "Print the log of the hooks for stop, preemption or down; by default the newest.",
      "--autostop": "Print the log of the hooks of the latest idle stop or teardown.",
      ...option.logInstants,
      ...option.logLines,
    },
    more: `${option.jobExits}

A time is that of the node's clock when the agent saw the line. Lines written while no agent ran have the time of the last of them.

Of a cluster that is stopped or gone, it prints the copies of the latest jobs' logs that control made before.

Logs of hooks are available while they run, and after the cluster is stopped or gone. With --hook, a single argument is the cluster. With two arguments, the event may come before or after the cluster.

Examples:
  outrigger logs dev                                the latest job
  outrigger logs --hook dev                         the running or latest hooks
  outrigger logs --hook down dev                    the hooks that ran before down
  outrigger logs --hook stop stop                   the stop hooks of a cluster named stop`,
  },
  download: {
    group: jobs,
    operands: "<cluster:path> [local]",
    summary: "Copy a file or folder from a node; only what differs is transferred.",
    options: {
      "--rank <n>": { means: "Rank of the node; 0, the head, by default.", parse: wholeNumber(0) },
    },
    more: `PATH is relative to the folder that jobs start in; ~/PATH is in the node's home. A folder is copied to LOCAL, a file to LOCAL or into it; by default to the current folder under its own name. Other local files are kept. An interrupted download continues where it stopped.

Examples:
  outrigger download dev:results                    to ./results
  outrigger download dev:results/model.pt models/   to models/model.pt
  outrigger download dev:~/logs logs --rank 1       from the second node`,
  },
  cancel: {
    group: jobs,
    operands: "<cluster> [jobs...]",
    summary: "Cancel jobs; by default your latest running one.",
    options: {
      "-a, --all": "All your jobs on the cluster.",
      "-u, --all-users": "All jobs of all users on the cluster.",
      ...option.yes,
      ...option.later,
    },
    more: `With job ids, it asks for confirmation only on a terminal. Without, it needs a terminal or -y.

Examples:
  outrigger cancel dev 3 4                        two jobs
  outrigger cancel dev -a -y                      all of your jobs there`,
  },
  events: {
    operands: "[cluster]",
    summary: "Show what happened to a cluster, even after it is gone.",
    options: {
      "-n, --limit <n>": { means: "Show only the newest.", parse: wholeNumber(1) },
      "--debug": "Include debug events.",
      "-f, --follow":
        "Show the newest ten, or -n, then follow; without a cluster, those of all clusters.",
      ...option.outputs,
    },
    more: `Examples:
  outrigger events dev                              what happened to dev
  outrigger events -f dev                           and then new events as they come
  outrigger events -f                               events of all clusters`,
  },
  explain: {
    operands: "<name>",
    summary: "Explain what a cluster, a service, a managed job or a request is waiting for.",
    options: option.outputs,
    more: `Shows what is in progress, why the last attempt failed, and when the next one is due.

Examples:
  outrigger explain dev                             a cluster or a service
  outrigger explain 3                               managed job 3
  outrigger explain 3f2a                            a request, by the beginning of its id`,
  },
  "cost-report": {
    summary: "Show the cost of current and past clusters.",
    options: {
      "--days <n>": { means: "Number of days to include; 30 by default.", parse: wholeNumber(1) },
      "-a, --all": "Include all known clusters.",
      "--by <group>": {
        means: "Add up the clusters of each user, workspace, or value of a label: label:team.",
        parse: groupOf,
      },
      ...option.outputs,
    },
    more: `Prices are those at launch; docs/catalog.md says how to set the price of your own machines.

Examples:
  outrigger cost-report --days 7
  outrigger cost-report --by label:team
  outrigger cost-report --fields name,cost_usd    as JSON, for scripts`,
  },
  "gpus status": {
    summary: "Show the accelerators of all infrastructure, what is free, and who uses them.",
    options: option.outputs,
    startsControl: true,
    isDefault: true,
    more: `What is free on Kubernetes is what no pod has requested.

Examples:
  outrigger gpus                                  the same
  outrigger gpus status -o json`,
  },
  "gpus list": {
    operands: "[accelerator]",
    summary: "List machines with accelerators and their prices, of the catalog and of your own.",
    options: {
      "--infra <where>": "Only there: lambda, aws/us-east-1, ssh.",
      "--all-regions": "A row for each region instead of the cheapest.",
      ...option.outputs,
    },
    startsControl: true,
    more: `ACCELERATOR is a name, or the beginning of one, with an optional count. Without one, it lists the counts of every accelerator. docs/catalog.md says where prices come from and how to change them.

Examples:
  outrigger gpus list
  outrigger gpus list H100:8
  outrigger gpus list A100 --infra aws -o json`,
  },
  check: {
    operands: "[infra...]",
    summary: "Check which infrastructure can be used.",
    options: { "-v, --verbose": "Explain why one cannot be used.", ...option.outputs },
    startsControl: true,
    more: `Examples:
  outrigger check
  outrigger check ssh -v                          why a host cannot be used`,
  },
});
