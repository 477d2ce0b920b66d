import { collected } from "../arguments.ts";
import type { OptionRow } from "./options.ts";
import * as option from "./options.ts";
import type { CommandRow } from "./row.ts";

const workspaces = "Workspaces:";

const changes: readonly OptionRow[] = [
  { flags: "-f, --file <yaml>", means: "File with the whole workspace, as in docs/workspaces.md." },
  { flags: "--private", means: "Only for its users, its groups and administrators." },
  { flags: "--public", means: "For everyone." },
  {
    flags: "--add-user <user>",
    means: "Name or id of a user to add; repeatable.",
    parse: collected,
  },
  {
    flags: "--limit <name=number>",
    means: "Limit such as clusters=10; without a number there is none. Repeatable.",
    parse: collected,
  },
];

/** Commands about workspaces. */
export const workspaceCommands: readonly CommandRow[] = [
  {
    name: "workspaces list",
    group: workspaces,
    summary: "List your workspaces, what they use, and their limits.",
    options: option.outputs,
    more:
      "Costs are of the UTC day and month so far." + "\n\nExamples:\n  outrigger workspaces list",
    load: async () => (await import("../commands/workspaces.ts")).list,
  },
  {
    name: "workspaces create",
    group: workspaces,
    operands: "<name>",
    summary: "Create a workspace.",
    options: changes,
    more: `Limits: clusters, accelerators, dollars_per_day, dollars_per_month, idle_minutes.

Examples:
  outrigger workspaces create research --private --add-user ana
  outrigger workspaces create lab --limit clusters=4 --limit idle_minutes=60`,
    load: async () => (await import("../commands/workspaces.ts")).create,
  },
  {
    name: "workspaces update",
    group: workspaces,
    operands: "<name>",
    summary: "Change the members, limits or settings of a workspace.",
    options: [
      ...changes,
      { flags: "--remove-user <user>", means: "User to remove; repeatable.", parse: collected },
    ],
    more:
      "Clusters that run stay as they are. With -f, the file replaces the whole workspace." +
      "\n\nExamples:\n  outrigger workspaces update lab --public",
    load: async () => (await import("../commands/workspaces.ts")).update,
  },
  {
    name: "workspaces delete",
    group: workspaces,
    operands: "<names...>",
    summary: "Delete workspaces in which nothing is left.",
    options: [],
    more: "Examples:\n  outrigger workspaces delete lab",
    load: async () => (await import("../commands/workspaces.ts")).remove,
  },
  {
    name: "workspaces use",
    group: workspaces,
    operands: "[name]",
    summary: "Choose the workspace of your launches.",
    options: [{ flags: "--clear", means: "Take the choice back." }],
    more:
      "The control plane keeps the choice. For one command: outrigger launch --workspace NAME" +
      "\n\nExamples:\n  outrigger workspaces use lab",
    load: async () => (await import("../commands/workspaces.ts")).use,
  },
];
