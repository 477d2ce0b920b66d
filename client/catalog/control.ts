import { wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import type { CommandRow } from "./row.ts";

const control = "Control plane:";
const shell = "Shell:";

/** Commands about the control plane itself, and for shells. */
export const controlCommands: readonly CommandRow[] = [
  {
    name: "api start",
    group: control,
    summary: "Start a control plane on this machine.",
    options: [
      { flags: "--foreground", means: "Stay in front; ends on Ctrl-C or SIGTERM." },
      { flags: "--host <address>", means: "Address to listen on; 127.0.0.1 when absent." },
      {
        flags: "--port <port>",
        means: "Port to listen on; 46580 when absent.",
        parse: wholeNumber(0, 65_535),
      },
    ],
    more: "Keeps its files and its log (control.log) in OUTRIGGER_HOME, ~/.outrigger when unset.",
    load: async () => (await import("../commands/api-start.ts")).start,
  },
  {
    name: "api stop",
    group: control,
    summary: "Stop the control plane of this machine; clusters and jobs go on.",
    options: [],
    load: async () => (await import("../commands/api-stop.ts")).stop,
  },
  {
    name: "api restore",
    group: control,
    operands: "[copy]",
    summary: "Put a copy of the control plane's database back, the newest when none is named.",
    options: [],
    more: "Stop the control plane first. The database before it is kept aside: docs/recovery.md.",
    load: async () => (await import("../commands/api-restore.ts")).restore,
  },
  {
    name: "api orphans",
    group: control,
    summary: "List clusters that the control plane's database has lost; adopt or end one.",
    options: [
      { flags: "--adopt <cluster>", means: "Add it to the database as yours; its jobs go on." },
      { flags: "--end <cluster>", means: "End its jobs and its nodes, without hooks." },
      option.output,
    ],
    load: async () => (await import("../commands/api-orphans.ts")).orphans,
  },
  {
    name: "api info",
    group: control,
    summary: "Show the endpoint, its health and version, and who you are to it.",
    options: [option.output],
    load: async () => (await import("../commands/api-info.ts")).info,
  },
  {
    name: "api status",
    group: control,
    operands: "[requests...]",
    summary: "List requests that wait or run.",
    options: [
      { flags: "-a, --all-status", means: "Those that ended, too." },
      {
        flags: "-l, --limit <n>",
        means: "At most so many; 50 when absent.",
        parse: wholeNumber(1),
      },
      { flags: "--cluster <name>", means: "Only those for this cluster." },
      option.output,
    ],
    load: async () => (await import("../commands/api-requests.ts")).status,
  },
  {
    name: "api logs",
    group: control,
    operands: "[request]",
    summary: "Follow what a request prints; the newest one when none is named.",
    options: [...option.noFollow, option.tail],
    load: async () => (await import("../commands/api-requests.ts")).logs,
  },
  {
    name: "api cancel",
    group: control,
    operands: "[requests...]",
    summary: "Cancel requests.",
    options: [{ flags: "-a, --all", means: "All of yours." }, option.yes, option.later],
    load: async () => (await import("../commands/api-requests.ts")).cancel,
  },
  {
    name: "completion",
    group: shell,
    operands: "<shell>",
    summary: "Print the completion script of bash, zsh or fish.",
    options: [],
    more: `Examples:
  source <(outrigger completion bash)
  outrigger completion zsh > ~/.zfunc/_outrigger
  outrigger completion fish > ~/.config/fish/completions/outrigger.fish`,
    load: async () => (await import("../commands/completion.ts")).completion,
  },
  {
    name: "complete",
    group: shell,
    operands: "<kind> [beginning]",
    summary: "Names that begin so, for completion scripts.",
    options: [],
    hidden: true,
    load: async () => (await import("../commands/completion.ts")).complete,
  },
];
