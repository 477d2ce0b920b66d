import type { Options } from "./options.ts";
import { inGroup } from "./row.ts";

const options = {
  "--user": "Use the systemd instance of your user, even as root.",
  "--dry-run": "Print what would be done and change nothing.",
} as const satisfies Options;

/** Commands that are run on a node itself. */
export const nodeCommands = inGroup("Nodes:", {
  "agent install": {
    summary: "Install or upgrade this machine's agent as a systemd service; jobs keep running.",
    options,
    more: `As root, it installs a system service that runs as the user who called sudo; otherwise, a user service.

Examples:
  outrigger agent install --dry-run               show the unit
  sudo outrigger agent install                    a system service`,
  },
  "agent uninstall": {
    summary: "Remove the agent from systemd; jobs keep running and files are kept.",
    options,
    more: `Examples:
  outrigger agent uninstall`,
  },
});
