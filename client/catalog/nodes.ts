import type { OptionRow } from "./options.ts";
import type { CommandRow } from "./row.ts";

const nodes = "Nodes:";
const options: readonly OptionRow[] = [
  { flags: "--user", means: "Use the systemd instance of your user, even as root." },
  { flags: "--dry-run", means: "Print what would be done and change nothing." },
];

/** Commands that are run on a node itself. */
export const nodeCommands: readonly CommandRow[] = [
  {
    name: "agent install",
    group: nodes,
    summary: "Install or upgrade this machine's agent as a systemd service; jobs keep running.",
    options,
    more: `As root, it installs a system service that runs as the user who called sudo; otherwise, a user service.

Examples:
  outrigger agent install --dry-run               show the unit
  sudo outrigger agent install                    a system service`,
    load: async () => (await import("../commands/agent-install.ts")).install,
  },
  {
    name: "agent uninstall",
    group: nodes,
    summary: "Remove the agent from systemd; jobs keep running and files are kept.",
    options,
    more: `Examples:
  outrigger agent uninstall`,
    load: async () => (await import("../commands/agent-install.ts")).uninstall,
  },
];
