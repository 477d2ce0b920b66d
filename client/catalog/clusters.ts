import { durationOf, wholeNumber } from "../arguments.ts";
import type { Options } from "./options.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const clusters = "Clusters:";
const names = "Names may be patterns such as 'dev-*'; quote them.";
const asking =
  "With names, it asks for confirmation only on a terminal. --all and patterns need a terminal or -y.";

const purge = {
  "-p, --purge":
    "Skip hooks, and forget the cluster even if its provider fails; then check for leftovers yourself.",
} as const satisfies Options;
const skipHooks = { "--skip-hooks": "End the running hook and skip the others." };
/** Of commands that take clusters away. */
const ending = {
  ...option.all,
  ...option.yes,
  ...option.ignoreNotFound,
  ...purge,
  ...skipHooks,
  ...option.later,
} as const satisfies Options;
const whileHooks =
  "While hooks run, outrigger logs --hook CLUSTER shows their output. Run the command again with " +
  "--skip-hooks to end them.";

/** Commands about clusters. */
export const clusterCommands = inGroup(clusters, {
  launch: {
    operands: "[entrypoint...]",
    summary: "Create a cluster, or reuse it, and run a task on it.",
    options: {
      "-c, --cluster <name>": "Cluster to create or reuse; gets a generated name by default.",
      ...option.workspaceOption,
      ...option.detach,
      ...option.yes,
      "--dryrun": "Print the plan and change nothing.",
      ...option.idle,
      "--down": "Tear down instead of stopping; without -i, when the job ends.",
      ...option.retry,
      "--no-setup": "Skip the setup script.",
      "--fast": "Skip setup on nodes where the same script has already succeeded.",
      ...option.cancelStop,
      ...option.taskOptions,
      ...option.machineOptions,
      ...option.later,
    },
    more: `ENTRYPOINT is a YAML file, - for YAML on stdin, or a quoted command. With -c alone, the cluster is created and nothing runs.
Without a terminal it does not ask for confirmation.
${option.jobExits}

Examples:
  outrigger launch -c dev task.yaml                 a task file, on a cluster named dev
  outrigger launch -c dev --gpus H100:8 'nvidia-smi'  a command, on machines with GPUs
  outrigger launch -c dev -i 30 --down task.yaml    delete after 30 idle minutes
  outrigger launch -d --env STEPS=100 task.yaml     do not wait for the job`,
    startsControl: true,
  },
  exec: {
    operands: "[cluster] [entrypoint...]",
    summary: "Run a task on a cluster that is up.",
    options: {
      ...option.clusterOption,
      ...option.detach,
      ...option.cancelStop,
      ...option.taskOptions,
      ...option.later,
    },
    more: `The first argument is the cluster, unless -c is given. ${option.jobExits}

Examples:
  outrigger exec dev 'python train.py --lr 1e-4'
  outrigger exec -c dev task.yaml
  sed s/small/large/ task.yaml | outrigger exec dev -`,
    startsControl: true,
  },
  shell: {
    operands: "<cluster> [command...]",
    summary: "Open a shell on a cluster, or run one command there.",
    options: {
      "-n, --node <rank>": {
        means: "Rank of the node; 0, the head, by default.",
        parse: wholeNumber(0),
      },
      "--stdio": { means: "Carry SSH over stdin and stdout, for ProxyCommand.", hidden: true },
    },
    more: `The node needs no SSH server. COMMAND is one quoted command line for bash, or a program and its arguments; put -- before it. It gets a terminal if you are at one, and outrigger exits with its exit code. Background processes end with the shell; run them as jobs instead.

Examples:
  outrigger shell dev
  outrigger shell dev -n 1 -- nvidia-smi -l 5
  outrigger shell dev -- 'cat > data.json' < data.json`,
  },
  status: {
    operands: "[names...]",
    summary: "List clusters and their status.",
    options: {
      "-v, --verbose": "Show all columns.",
      "-r, --refresh": "Query the providers first.",
      ...option.watch,
      "--ip": "Print only the address of one cluster's head.",
      "--endpoints": "Print the addresses of one cluster's ports.",
      "--endpoint <port>": "Print the address of one port.",
      ...option.allUsers,
      ...option.outputs,
    },
    more: `${names}

Examples:
  outrigger status                                clusters of yours
  outrigger status dev -w                         one cluster, shown again after each change
  outrigger status 'exp-*' --fields name,status   as JSON, for scripts`,
  },
  start: {
    operands: "[names...]",
    summary: "Start stopped clusters again.",
    options: {
      ...option.all,
      ...option.yes,
      ...option.idle,
      "--down": "Tear down instead of stopping when idle; needs -i.",
      ...option.waitFor,
      ...option.retry,
      "-f, --force": "Also if the cluster is up.",
      ...option.later,
    },
    more: `${names}\n${asking}

Examples:
  outrigger start dev
  outrigger start dev -i 30 --down                and delete it after 30 idle minutes`,
    startsControl: true,
  },
  stop: {
    operands: "[names...]",
    summary: "Stop clusters and keep their disks.",
    options: ending,
    more: `${names}\n${asking}\n\n${whileHooks}

Examples:
  outrigger stop dev                              runs the stop hooks first
  outrigger stop -a -y                            all of your clusters, without a question`,
  },
  down: {
    operands: "[names...]",
    summary: "Tear clusters down, disks included.",
    options: ending,
    more: `${names}\n${asking}\n\n${whileHooks}

Examples:
  outrigger down dev                              runs the down hooks first
  outrigger down 'exp-*' -y --ignore-not-found    for scripts that clean up`,
  },
  autostop: {
    operands: "[names...]",
    summary: "Stop or tear down clusters automatically when they are idle.",
    options: {
      ...option.all,
      ...option.yes,
      "-i, --idle-minutes <minutes>": {
        means: "Idle minutes before the cluster is stopped; 5 by default.",
        parse: wholeNumber(0),
      },
      "--cancel": "Cancel autostop, even while its hooks run.",
      "--down": "Tear down instead of stopping.",
      ...option.waitFor,
      ...option.later,
    },
    more: `${names}\n${asking}

Examples:
  outrigger autostop dev -i 30                    stop after 30 idle minutes
  outrigger autostop dev -i 30 --down             delete instead
  outrigger autostop dev --cancel                 never`,
  },
  preempt: {
    operands: "<cluster>",
    summary: "Take the nodes of a cluster away, as a cloud does with spot machines; only locally.",
    options: {
      "--node <rank>": { means: "Only the node of this rank.", parse: wholeNumber(0) },
      "--notice <duration>": {
        means: "How long before the nodes go they are told; 30s by default.",
        parse: durationOf,
      },
      "--lose": "Take the nodes immediately, without a notice.",
      ...option.yes,
      ...option.later,
    },
    more: `For trying out hooks and managed jobs. The nodes get a preemption notice and run their hooks for preemption; when the time is over, they are gone with their disks, and what still runs there is killed. The cluster then gets new nodes; a managed job starts its next attempt. It asks for confirmation only on a terminal.

Examples:
  outrigger preempt dev                           hooks have 30 seconds
  outrigger preempt dev --node 1 --notice 2m
  outrigger preempt train-3 --lose                the cluster of managed job 3, without a notice`,
  },
});
