import { wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const services = "Services:";
const names = "Names may be patterns such as 'chat-*'; quote them.";
const detach = {
  "-d, --detach": "Return once the request is accepted; do not wait until the service is READY.",
} as const satisfies option.Options;

/** Commands about model servers: services, and what stands before one. */
export const servingCommands = inGroup(services, {
  "serve up": {
    operands: "[entrypoint...]",
    summary: "Start a service: replicas of a task behind one address.",
    options: {
      "-n, --service-name <name>": "Name of the service; by default the name of the task.",
      ...option.workspaceOption,
      ...detach,
      ...option.yes,
      ...option.taskChanges,
      ...option.machineOptions,
      ...option.later,
    },
    more: `ENTRYPOINT is a YAML file with a service section, or - for stdin. The command waits until a replica is ready and prints the address on stdout. If none becomes ready it exits with 1, and the control plane keeps trying. Ctrl-C does not stop the service. Without a terminal it does not ask for confirmation.

Examples:
  outrigger serve up -n chat service.yaml           a service named chat
  outrigger serve up --secret API_KEY chat.yaml     a secret from your environment
  outrigger serve status chat                       the service and its replicas`,
    startsControl: true,
  },
  "serve update": {
    operands: "<service> <entrypoint...>",
    summary: "Update a service to another task without losing a request.",
    options: {
      "--mode <mode>": {
        means:
          "rolling: replace replicas step by step (default); blue_green: switch once all new ones are ready.",
        choices: ["rolling", "blue_green"],
      },
      ...detach,
      ...option.yes,
      ...option.taskChanges,
      ...option.machineOptions,
      ...option.later,
    },
    more: `Each version has its own secrets: pass --secret with every update. The command waits until the new version has taken over. If the new version does not become ready, the previous one continues and the command exits with 1.

Examples:
  outrigger serve update --secret API_KEY chat service.yaml     one replica after another
  outrigger serve update --mode blue_green chat service.yaml    all together, when all are ready`,
  },
  "serve status": {
    operands: "[services...]",
    summary: "List services and their replicas, and why one is not ready.",
    options: {
      "-v, --verbose": "Show all columns.",
      ...option.watch,
      "--endpoint": "Print only the address of one service.",
      ...option.outputs,
    },
    more: `${names} It exits with 3 if a service does not exist.

Examples:
  outrigger serve status                     every service
  outrigger serve status chat -v             also explains the number of replicas
  curl $(outrigger serve status chat --endpoint)/`,
  },
  "serve logs": {
    operands: "<service> [replicas...]",
    summary: "Follow the logs of all replicas, of one, of the balancer, or of the service itself.",
    options: {
      "--controller": "Show the decisions about the service, with reasons.",
      "--load-balancer": "Show the requests of the balancer, one per line.",
      ...option.noFollow,
      ...option.tail,
      ...option.logInstants,
      ...option.logLines,
      "-s, --sync-down":
        "Write the logs to files below ~/outrigger_logs instead; by default of all parts.",
    },
    more: `REPLICAS are the numbers that serve status shows; more than one needs -s. Without any, each line starts with the number of its replica.

Examples:
  outrigger serve logs chat                         what all replicas print
  outrigger serve logs chat 1                       what replica 1 prints
  outrigger serve logs chat --load-balancer         requests as they come
  outrigger serve logs chat -s                      everything, as files
  outrigger serve logs chat 1 3 -s                  of two replicas`,
  },
  "serve down": {
    operands: "[services...]",
    summary: "Take services down, or one replica of a service.",
    options: {
      "-a, --all": "All services.",
      ...option.yes,
      ...option.ignoreNotFound,
      "-p, --purge": "Also remove what failed from the list; then check for leftovers yourself.",
      "--replica-id <id>": {
        means: "Only this replica; the service replaces it if needed.",
        parse: wholeNumber(1),
      },
      ...option.later,
    },
    more: `${names} Open requests are finished first.\nWith names, it asks for confirmation only on a terminal. --all and patterns need a terminal or -y.

Examples:
  outrigger serve down chat                         with all of its replicas
  outrigger serve down chat --replica-id 3          one replica
  outrigger serve down chat --replica-id 3 --purge  removes one that failed from the list`,
  },
  sidecar: {
    group: "Model servers:",
    operands: "[settings...]",
    summary: "Put an API key in front of a model server.",
    readsItself: true,
  },
});
