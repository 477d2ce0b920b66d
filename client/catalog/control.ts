import { wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const control = "Control plane:";
const shell = "Shell:";

/** Commands about the control plane itself, and for shells. */
export const controlCommands = inGroup(control, {
  "api start": {
    summary: "Start a control plane on this machine.",
    options: {
      "--foreground": "Run in the foreground until Ctrl-C or SIGTERM.",
      "--host <address>": "Address to listen on; 127.0.0.1 by default.",
      "--port <port>": {
        means: "Port to listen on; 46580 by default.",
        parse: wholeNumber(0, 65_535),
      },
      "--first-admin <user>": "Make this user an administrator if there is none yet.",
    },
    more: `Files and the log (control.log) are kept in OUTRIGGER_HOME, by default ~/.outrigger.

Examples:
  outrigger api start
  outrigger api start --port 0                    on any free port; commands find it by themselves`,
  },
  "api stop": {
    summary: "Stop the control plane of this machine; clusters and jobs keep running.",
    more: `Examples:
  outrigger api stop`,
  },
  "api restore": {
    operands: "[copy]",
    summary: "Restore the control plane's database from a copy; by default the newest.",
    more: `Stop the control plane first. The current database is kept under another name; see docs/recovery.md.

Examples:
  outrigger api restore
  outrigger api restore state-2026-01-31T09-30-00Z.db a certain copy`,
  },
  "api orphans": {
    summary: "List, adopt or end clusters that the database has lost.",
    options: {
      "--adopt <cluster>": "Add it to the database as yours; its jobs keep running.",
      "--end <cluster>": "End its jobs and its nodes, without hooks.",
      ...option.outputs,
    },
    more: `Examples:
  outrigger api orphans
  outrigger api orphans --adopt 4f1c
  outrigger api orphans --end 4f1c`,
  },
  "api config": {
    operands: "[action]",
    summary: "Show, edit, set or list versions of the control plane's configuration.",
    options: { "-f, --file <yaml>": "File to set it from.", ...option.outputs },
    more:
      `Actions: show (the default), edit (in EDITOR), set -f FILE, history. Secrets are shown as [secret]; left so, they stay as they are. If \`version\` in the file is not the newest one, set is refused. See docs/workspaces.md. For the settings of this command line: outrigger config show` +
      "\n\nExamples:\n  outrigger api config\n  outrigger api config set -f config.yaml",
  },
  "api info": {
    summary: "Show the endpoint, its health and version, and who you are to it.",
    options: { ...option.outputs },
    more: `Examples:
  outrigger api info
  outrigger api info --fields version,user        as JSON, for scripts`,
  },
  "api status": {
    operands: "[requests...]",
    summary: "List waiting and running requests.",
    options: {
      "-a, --all-status": "Include requests that have ended.",
      "-l, --limit <n>": {
        means: "Maximum number of requests; 50 by default.",
        parse: wholeNumber(1),
      },
      "--cluster <name>": "Only those for this cluster.",
      ...option.outputs,
    },
    more: `Examples:
  outrigger api status
  outrigger api status -a -l 20 --cluster dev     also ended ones, of one cluster`,
  },
  "api logs": {
    operands: "[request]",
    summary: "Follow the output of a request; by default the newest one.",
    options: { ...option.noFollow, ...option.tail, ...option.logLines },
    more: `Examples:
  outrigger api logs                              the newest request
  outrigger api logs 3f2a --no-follow             a request, by the beginning of its id`,
  },
  "api cancel": {
    operands: "[requests...]",
    summary: "Cancel requests.",
    options: { "-a, --all": "All your requests.", ...option.yes, ...option.later },
    more: `Examples:
  outrigger api cancel 3f2a
  outrigger api cancel -a -y`,
  },
  completion: {
    group: shell,
    operands: "<shell>",
    summary: "Print the completion script of bash, zsh, fish or PowerShell.",
    more: `Examples:
  source <(outrigger completion bash)
  outrigger completion zsh > ~/.zfunc/_outrigger
  outrigger completion fish > ~/.config/fish/completions/outrigger.fish
  outrigger completion powershell | Out-String | Invoke-Expression`,
  },
  complete: {
    group: shell,
    operands: "<current> [before...]",
    summary: "Words that may stand next, for completion scripts.",
    hidden: true,
    readsItself: true,
  },
});
