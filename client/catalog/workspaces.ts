import { collected } from "../arguments.ts";
import type { Options } from "./options.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const workspaces = "Workspaces:";

const changes = {
  "-f, --file <yaml>": "File with the whole workspace, as in docs/workspaces.md.",
  "--private": "Only for its users, its groups and administrators.",
  "--public": "For everyone.",
  "--add-user <user>": { means: "Name or id of a user to add; repeatable.", parse: collected },
  "--limit <name=number>": {
    means: "Limit such as clusters=10; without a number there is none. Repeatable.",
    parse: collected,
  },
} as const satisfies Options;

/** Commands about workspaces. */
export const workspaceCommands = inGroup(workspaces, {
  "workspaces list": {
    summary: "List your workspaces, what they use, and their limits.",
    options: option.outputs,
    more:
      "Costs are of the UTC day and month so far." + "\n\nExamples:\n  outrigger workspaces list",
  },
  "workspaces create": {
    operands: "<name>",
    summary: "Create a workspace.",
    options: changes,
    more: `Limits: clusters, accelerators, dollars_per_day, dollars_per_month, idle_minutes.

Examples:
  outrigger workspaces create research --private --add-user ana
  outrigger workspaces create lab --limit clusters=4 --limit idle_minutes=60`,
  },
  "workspaces update": {
    operands: "<name>",
    summary: "Change the members, limits or settings of a workspace.",
    options: {
      ...changes,
      "--remove-user <user>": { means: "User to remove; repeatable.", parse: collected },
    },
    more:
      "Clusters that run stay as they are. With -f, the file replaces the whole workspace." +
      "\n\nExamples:\n  outrigger workspaces update lab --public",
  },
  "workspaces delete": {
    operands: "<names...>",
    summary: "Delete workspaces in which nothing is left.",
    more: "Examples:\n  outrigger workspaces delete lab",
  },
  "workspaces use": {
    operands: "[name]",
    summary: "Choose the workspace of your launches.",
    options: { "--clear": "Take the choice back." },
    more:
      "The control plane keeps the choice. For one command: outrigger launch --workspace NAME" +
      "\n\nExamples:\n  outrigger workspaces use lab",
  },
});
