import { roleNames } from "../../contract/roles.ts";
import { wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const role = { choices: roleNames };
const passwordStdin = {
  "--password-stdin": "Read the password from stdin; without it you are asked.",
};
const expiry = { parse: wholeNumber(0, 36_500) };
const tokenUse = `The token is printed once. To use it:
  export OUTRIGGER_TOKEN=<token>
  export SKYPILOT_SERVICE_ACCOUNT_TOKEN=<token>     for sky`;

/** Commands about logins, users and tokens. */
export const accessCommands = inGroup("Access:", {
  login: {
    summary: "Log in to a control plane, in a browser.",
    options: {
      "--endpoint <address>": "Its address; a context is made for it.",
      "--token-file <file>": "Use the token in this file instead.",
      "--relogin": "Log in again, for example as another user.",
    },
    more:
      "Without --endpoint, the login is for the context in use. See docs/contexts.md." +
      "\n\nExamples:\n  outrigger login --endpoint https://control.example",
  },
  logout: {
    summary: "End the login of the context in use.",
    more: "Examples:\n  outrigger logout",
  },
  whoami: {
    summary: "Show who you are to the control plane, and your role.",
    options: { ...option.outputs },
    more: "Examples:\n  outrigger whoami\n  outrigger whoami -o json",
  },
  "users list": {
    summary: "List users and their roles.",
    options: { ...option.outputs },
    more: "Examples:\n  outrigger users list",
  },
  "users create": {
    operands: "<user>",
    summary: "Create a user who logs in with a password.",
    options: {
      "--role <role>": { means: "Role; by default that of new users.", ...role },
      ...passwordStdin,
    },
    more: "Examples:\n  outrigger users create ann --role admin",
  },
  "users update": {
    operands: "<user>",
    summary: "Change the role or the password of a user.",
    options: {
      "--role <role>": { means: "New role.", ...role },
      "--password": "Ask for a new password.",
      "--password-stdin": "Read the new password from stdin.",
    },
    more:
      "You can change your own password; everything else takes an administrator." +
      "\n\nExamples:\n  outrigger users update ann --role viewer",
  },
  "users delete": {
    operands: "<users...>",
    summary: "Delete users with their sessions and the tokens that they made.",
    options: { ...option.yes, ...option.ignoreNotFound },
    more:
      "Refused while a user owns clusters, services or requests that have not ended." +
      "\n\nExamples:\n  outrigger users delete ann",
  },
  "users import": {
    operands: "<file>",
    summary: "Create users from a CSV file, or - for stdin.",
    options: { ...option.outputs },
    more:
      "The first line is username,password,role. If one line is wrong, no user is created." +
      "\n\nExamples:\n  outrigger users import users.csv",
  },
  "users export": {
    summary: "Print users as CSV, without passwords.",
    more: "Examples:\n  outrigger users export > users.csv",
  },
  "tokens list": {
    summary: "List the tokens of service accounts.",
    options: { ...option.outputs },
    more: "Examples:\n  outrigger tokens list",
  },
  "tokens create": {
    operands: "<name>",
    summary: "Create a service account and print its token.",
    options: {
      "--role <role>": { means: "Role, up to your own; by default that of new users.", ...role },
      "--expires-in-days <days>": {
        means: "The token expires after this many days; never by default.",
        ...expiry,
      },
      ...option.outputs,
    },
    more: `${tokenUse}\n\nExamples:\n  outrigger tokens create ci --expires-in-days 90`,
  },
  "tokens rotate": {
    operands: "<token>",
    summary: "Replace a token by a new one; the old one stops working.",
    options: {
      "--expires-in-days <days>": {
        means: "The new one expires after this many days; by default when the old one would have.",
        ...expiry,
      },
      ...option.yes,
      ...option.outputs,
    },
    more: `${tokenUse}\n\nExamples:\n  outrigger tokens rotate ci`,
  },
  "tokens role": {
    operands: "<token> [role]",
    summary: "Show or set the role of a service account.",
    options: { ...option.outputs },
    more:
      `Roles: ${roleNames.join(", ")}. A service account has at most the role of its creator.` +
      "\n\nExamples:\n  outrigger tokens role ci viewer",
  },
  "tokens delete": {
    operands: "<tokens...>",
    summary: "Delete tokens and their service accounts.",
    options: { ...option.yes, ...option.ignoreNotFound },
    more: "Examples:\n  outrigger tokens delete ci",
  },
});
