import type { Options } from "./options.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const recipes = "Recipes:";
const types = ["cluster", "job", "service", "pool", "volume"];
const description = {
  "--description <text>": "What it does, in a few words.",
} as const satisfies Options;

const pinning = (verb: "pin" | "unpin", summary: string) => ({
  ...{ operands: "<name>", summary },
  more: `Examples:\n  outrigger recipes ${verb} sweep`,
});

/** Commands about recipes. */
export const recipeCommands = inGroup(recipes, {
  "recipes list": {
    summary: "List the recipes of everyone, pinned ones first.",
    options: {
      "--mine": "Only yours.",
      "--pinned": "Only pinned ones.",
      "--type <type>": { means: "Only those of this type.", choices: types },
      ...option.outputs,
    },
    more: `Examples:
  outrigger recipes list
  outrigger recipes list --mine --type job`,
  },
  "recipes show": {
    operands: "<name>",
    summary: "Print the YAML of a recipe.",
    options: option.outputs,
    more: `NAME@VERSION is an earlier version. To run a recipe, name recipes:NAME where a command takes a file.

Examples:
  outrigger recipes show fine-tuning
  outrigger recipes show fine-tuning@1 > task.yaml
  outrigger jobs launch --env CHECKPOINTS=/shared/run-1 recipes:fine-tuning`,
  },
  "recipes create": {
    operands: "<name> <file>",
    summary: "Create a recipe from a task file, for everyone to use.",
    options: {
      "--type <type>": { means: "What it is for; cluster by default.", choices: types },
      ...description,
    },
    more: `A recipe brings no local files, and no values of secrets.

Examples:
  outrigger recipes create sweep sweep.yaml --type job --description 'Learning rates'`,
  },
  "recipes update": {
    operands: "<name> [file]",
    summary: "Change a recipe of yours; earlier versions are kept.",
    options: { ...description },
    more: `Examples:
  outrigger recipes update sweep sweep.yaml`,
  },
  "recipes delete": {
    operands: "<names...>",
    summary: "Delete recipes of yours.",
    options: { ...option.yes, ...option.ignoreNotFound },
    more: `Examples:
  outrigger recipes delete sweep`,
  },
  "recipes pin": pinning("pin", "List a recipe before others; for administrators."),
  "recipes unpin": pinning("unpin", "Undo that."),
});
