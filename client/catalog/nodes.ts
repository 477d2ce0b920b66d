import type { OptionRow } from "./options.ts";
import type { CommandRow } from "./row.ts";

const nodes = "Nodes:";
const options: readonly OptionRow[] = [
  { flags: "--user", means: "In your own systemd, also for root." },
  { flags: "--dry-run", means: "Only say what would be done." },
];

/** Commands that are run on a node itself. */
export const nodeCommands: readonly CommandRow[] = [
  {
    name: "agent install",
    group: nodes,
    summary: "Install this machine's agent in systemd, or upgrade it; jobs go on.",
    options,
    more: "Root's is a service of the machine, which runs as whoever called sudo; others have one of their own.",
    load: async () => (await import("../commands/agent-install.ts")).install,
  },
  {
    name: "agent uninstall",
    group: nodes,
    summary: "Take the agent out of systemd; jobs go on, files are kept.",
    options,
    load: async () => (await import("../commands/agent-install.ts")).uninstall,
  },
];
