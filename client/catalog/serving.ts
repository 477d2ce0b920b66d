import { wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import type { CommandRow } from "./row.ts";

const services = "Services:";
const names = "Names may be patterns such as 'chat-*'; quote them.";
const detach: option.OptionRow = {
  flags: "-d, --detach",
  means: "Return once it is under way; do not wait until it is READY.",
};

/** Commands about model servers: services, and what stands before one. */
export const servingCommands: readonly CommandRow[] = [
  {
    name: "serve up",
    group: services,
    operands: "[entrypoint...]",
    summary: "Bring a service up: replicas of a task behind one address.",
    options: [
      { flags: "-n, --service-name <name>", means: "Its name; the task's own when absent." },
      detach,
      option.yes,
      ...option.taskChanges,
      ...option.machineOptions,
      option.later,
    ],
    more: `ENTRYPOINT is a YAML file with a service section. It waits until a replica is ready, prints the address on stdout, and ends with 1 where none gets ready; the service goes on being tried. Ctrl-C leaves it alone. Without a terminal it does not ask.

Examples:
  outrigger serve up -n chat service.yaml           a service named chat
  outrigger serve up --secret API_KEY chat.yaml     the key as $API_KEY has it here
  outrigger serve status chat                       how it and its replicas are`,
    load: async () => (await import("../commands/serve-up.ts")).serveUp,
  },
  {
    name: "serve update",
    group: services,
    operands: "<service> <entrypoint...>",
    summary: "Have a service run another task; no request is lost on the way.",
    options: [
      {
        flags: "--mode <mode>",
        means:
          "Old and new side by side, or switch once the new set is ready; rolling when absent.",
        choices: ["rolling", "blue_green"],
      },
      detach,
      option.yes,
      ...option.taskChanges,
      ...option.machineOptions,
      option.later,
    ],
    more: `Secrets are those of each version: say --secret again at every update. It waits until the new version has taken over. One that never gets ready is given up, and the one before goes on; that ends with 1.

Examples:
  outrigger serve update --secret API_KEY chat service.yaml     one replica after another
  outrigger serve update --mode blue_green chat service.yaml    all at once, when all are ready`,
    load: async () => (await import("../commands/serve-update.ts")).serveUpdate,
  },
  {
    name: "serve status",
    group: services,
    operands: "[services...]",
    summary: "List services and their replicas, and why one is not ready.",
    options: [
      { flags: "-v, --verbose", means: "Show everything." },
      { flags: "--endpoint", means: "Print just the address of one service." },
      option.output,
    ],
    more: `${names} It ends with 3 where there is no service of a name.

Examples:
  outrigger serve status                     every service
  outrigger serve status chat -v             why it has so many replicas, too
  curl $(outrigger serve status chat --endpoint)/`,
    load: async () => (await import("../commands/serve-status.ts")).serveStatus,
  },
  {
    name: "serve logs",
    group: services,
    operands: "<service> [replicas...]",
    summary: "Follow the log of a replica, of the balancer, or of the service itself.",
    options: [
      { flags: "--controller", means: "What was decided about the service, and why." },
      { flags: "--load-balancer", means: "Of the balancer: its requests, a line each." },
      ...option.noFollow,
      option.tail,
      {
        flags: "-s, --sync-down",
        means:
          "Write the logs to files below ~/outrigger_logs instead; of all parts when none is named.",
      },
    ],
    more: `REPLICAS are numbers that serve status shows; several only with -s.

Examples:
  outrigger serve logs chat 1                       what replica 1 prints
  outrigger serve logs chat --load-balancer         requests as they come
  outrigger serve logs chat -s                      everything, as files
  outrigger serve logs chat 1 3 -s                  of two replicas`,
    load: async () => (await import("../commands/serve-logs.ts")).serveLogs,
  },
  {
    name: "serve down",
    group: services,
    operands: "[services...]",
    summary: "Take services down, or one replica of a service.",
    options: [
      { flags: "-a, --all", means: "All services." },
      option.yes,
      { flags: "-p, --purge", means: "Also what failed; look for leftovers yourself." },
      {
        flags: "--replica-id <id>",
        means: "Only this replica; another takes its place where that is wanted.",
        parse: wholeNumber(1),
      },
      option.later,
    ],
    more: `${names} Open requests are finished first.\nWith names it asks only on a terminal. With --all or a pattern it wants a terminal or -y.

Examples:
  outrigger serve down chat                         with all of its replicas
  outrigger serve down chat --replica-id 3          one replica
  outrigger serve down chat --replica-id 3 --purge  forgets one that failed`,
    load: async () => (await import("../commands/serve-down.ts")).serveDown,
  },
  {
    name: "sidecar",
    group: "Model servers:",
    operands: "[settings...]",
    summary: "Stand before a model server: only requests with a key reach it.",
    options: [],
    readsItself: true,
    load: async () => (await import("../commands/sidecar.ts")).sidecar,
  },
];
