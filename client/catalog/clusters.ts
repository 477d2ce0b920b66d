import { wholeNumber } from "../arguments.ts";
import type { OptionRow } from "./options.ts";
import * as option from "./options.ts";
import type { CommandRow } from "./row.ts";

const clusters = "Clusters:";
const names = "Names may be patterns such as 'dev-*'; quote them.";
const asking =
  "With names it asks only on a terminal. With --all or a pattern it wants a terminal or -y.";

const purge: OptionRow = {
  flags: "-p, --purge",
  means:
    "Skip its hooks, and forget the cluster even when its provider fails; look for leftovers yourself.",
};
const skipHooks: OptionRow = {
  flags: "--skip-hooks",
  means: "End the hook that runs and begin no other.",
};
const whileHooks =
  "While its hooks run: outrigger logs --hook CLUSTER shows what they write; asked again with " +
  "--skip-hooks it does not wait for them.";

/** Commands about clusters. */
export const clusterCommands: readonly CommandRow[] = [
  {
    name: "launch",
    group: clusters,
    operands: "[entrypoint...]",
    summary: "Create a cluster, or reuse it, and run a task on it.",
    options: [
      { ...option.clusterOption, means: "Cluster to create or reuse; named for you when absent." },
      option.detach,
      option.yes,
      { flags: "--dryrun", means: "Plan only." },
      option.idle,
      { flags: "--down", means: "Tear down instead of stopping; alone: when the job is over." },
      option.retry,
      { flags: "--no-setup", means: "Skip the setup script." },
      { flags: "--fast", means: "Skip setup on nodes that have completed the same one already." },
      option.cancelStop,
      ...option.taskOptions,
      ...option.machineOptions,
      option.later,
    ],
    more: `ENTRYPOINT is a YAML file, or a command in quotes; with -c and without it nothing runs.
Without a terminal it does not ask.
${option.jobExits}

Examples:
  outrigger launch -c dev task.yaml                 what the file says, on a cluster named dev
  outrigger launch -c dev --gpus H100:8 'nvidia-smi'  a command, on machines with GPUs
  outrigger launch -c dev -i 30 --down task.yaml    gone after 30 idle minutes
  outrigger launch -d --env STEPS=100 task.yaml     do not wait for the job`,
    load: async () => (await import("../commands/launch.ts")).launch,
  },
  {
    name: "exec",
    group: clusters,
    operands: "[cluster] [entrypoint...]",
    summary: "Run a task on a cluster that is up.",
    options: [
      option.clusterOption,
      option.detach,
      option.cancelStop,
      ...option.taskOptions,
      option.later,
    ],
    more: `The first word names the cluster, unless -c does. ${option.jobExits}

Examples:
  outrigger exec dev 'python train.py --lr 1e-4'
  outrigger exec -c dev task.yaml`,
    load: async () => (await import("../commands/exec.ts")).exec,
  },
  {
    name: "shell",
    group: clusters,
    operands: "<cluster> [command...]",
    summary: "Open a shell on a cluster, or run one command there.",
    options: [
      {
        flags: "-n, --node <rank>",
        means: "Which node; 0, the head, when absent.",
        parse: wholeNumber(0),
      },
      {
        flags: "--stdio",
        means: "Carry SSH over stdin and stdout, for ProxyCommand.",
        hidden: true,
      },
    ],
    more: `Needs no SSH server on the node. COMMAND is one command line for bash, or a program and its arguments; put -- before it. It gets a terminal when you are at one, and its exit code is that of outrigger. What it leaves in the background ends with it; run that as a job.

Examples:
  outrigger shell dev
  outrigger shell dev -n 1 -- nvidia-smi -l 5
  outrigger shell dev -- 'cat > data.json' < data.json`,
    load: async () => (await import("../commands/shell.ts")).shell,
  },
  {
    name: "status",
    group: clusters,
    operands: "[names...]",
    summary: "List clusters and how they are.",
    options: [
      { flags: "-v, --verbose", means: "Show everything." },
      { flags: "-r, --refresh", means: "Ask the providers first." },
      { flags: "--ip", means: "Print just the address of one cluster's head." },
      { flags: "--endpoints", means: "Print the addresses of one cluster's ports." },
      { flags: "--endpoint <port>", means: "Print the address of one port." },
      ...option.allUsers,
      option.output,
    ],
    more: names,
    load: async () => (await import("../commands/status.ts")).status,
  },
  {
    name: "start",
    group: clusters,
    operands: "[names...]",
    summary: "Start stopped clusters again.",
    options: [
      option.all,
      option.yes,
      option.idle,
      { flags: "--down", means: "Tear down instead of stopping when idle; needs -i." },
      option.waitFor,
      option.retry,
      { flags: "-f, --force", means: "Also when the cluster is up." },
      option.later,
    ],
    more: `${names}\n${asking}`,
    load: async () => (await import("../commands/lifecycle.ts")).start,
  },
  {
    name: "stop",
    group: clusters,
    operands: "[names...]",
    summary: "Stop clusters and keep their disks.",
    options: [option.all, option.yes, purge, skipHooks, option.later],
    more: `${names}\n${asking}\n\n${whileHooks}`,
    load: async () => (await import("../commands/lifecycle.ts")).stop,
  },
  {
    name: "down",
    group: clusters,
    operands: "[names...]",
    summary: "Tear clusters down, disks included.",
    options: [option.all, option.yes, purge, skipHooks, option.later],
    more: `${names}\n${asking}\n\n${whileHooks}`,
    load: async () => (await import("../commands/lifecycle.ts")).down,
  },
  {
    name: "autostop",
    group: clusters,
    operands: "[names...]",
    summary: "Set or cancel what happens to clusters once they are idle.",
    options: [
      option.all,
      option.yes,
      {
        flags: "-i, --idle-minutes <minutes>",
        means: "Idle minutes before it happens; 5 when absent.",
        parse: wholeNumber(0),
      },
      { flags: "--cancel", means: "Cancel it, also while its hooks run." },
      { flags: "--down", means: "Tear down instead of stopping." },
      option.waitFor,
      option.later,
    ],
    more: `${names}\n${asking}`,
    load: async () => (await import("../commands/autostop.ts")).autostop,
  },
];
