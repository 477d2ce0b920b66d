import * as option from "./options.ts";
import { inGroup } from "./row.ts";

/** Commands about what the client reads before it connects. */
export const configurationCommands = inGroup("Configuration:", {
  "context add": {
    operands: "<name>",
    summary: "Add a context: the address of a control plane and its credentials.",
    options: {
      "--endpoint <address>": "Its address: https://control.example.",
      "--token-file <file>": "File with your token.",
      "--workspace <name>": "Workspace of launches.",
      "--use": "Switch to it.",
    },
    more: `The token stays in its file, which is read on each call. See docs/contexts.md.

Examples:
  outrigger context add prod --endpoint https://control.example --token-file ~/.prod-token --use`,
  },
  "context use": {
    operands: "<context>",
    summary: "Switch to a context; `default` is your home's control plane.",
    more: `Examples:
  outrigger context use prod
  outrigger context use default`,
  },
  "context list": {
    summary: "List contexts and mark the current one.",
    options: option.outputs,
    more: `Examples:
  outrigger context list`,
  },
  "context remove": {
    operands: "<context>",
    summary: "Remove a context; its token file is kept.",
    options: { ...option.ignoreNotFound },
    more: `Examples:
  outrigger context remove prod`,
  },
  "config show": {
    summary: "Show the settings of this command line.",
    options: {
      "--origin": "Also show where each value comes from; JSON always does.",
      ...option.outputs,
    },
    more: `Precedence: flag, environment, context, default.

Examples:
  outrigger config show --origin`,
  },
});
