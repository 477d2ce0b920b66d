import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const storage = "Storage:";

/** Commands about buckets that tasks name. */
export const storageCommands = inGroup(storage, {
  "storage ls": {
    summary: "List the buckets that tasks made.",
    options: option.outputs,
    more:
      "A task makes a bucket when it names one with a local source, as in docs/task.md." +
      "\n\nExamples:\n  outrigger storage ls",
  },
  "storage delete": {
    operands: "<storages...>",
    summary: "Delete buckets with all that is in them.",
    options: { ...option.yes, ...option.ignoreNotFound },
    more:
      "Copies on nodes stay. A node that a cluster gets later can no longer be given the bucket." +
      "\n\nExamples:\n  outrigger storage delete my-data",
  },
});
