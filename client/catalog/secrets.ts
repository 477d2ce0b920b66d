import type { Options } from "./options.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const secrets = "Secrets:";
const shared = {
  "--shared": "Of the workspace, for the tasks of all its members, instead of yours alone.",
} as const satisfies Options;

/** Commands about stored secrets. */
export const secretCommands = inGroup(secrets, {
  "secrets list": {
    summary: "List stored secrets, without their values.",
    options: option.outputs,
    more: "Examples:\n  outrigger secrets list",
  },
  "secrets set": {
    operands: "<name>",
    summary: "Store a secret that tasks name; asks for its value.",
    options: { "-f, --file <file>": "File with the value, or - for stdin.", ...shared },
    more: `Tasks name it under secrets: ["secrets:NAME"]. Nothing gives the value back.

Examples:
  outrigger secrets set HF_TOKEN
  outrigger secrets set GIT_SSH_KEY -f ~/.ssh/id_ed25519 --shared`,
  },
  "secrets rm": {
    operands: "<names...>",
    summary: "Delete stored secrets.",
    options: { ...shared },
    more: "Jobs and services that were launched with one keep it.\n\nExamples:\n  outrigger secrets rm HF_TOKEN",
  },
});
