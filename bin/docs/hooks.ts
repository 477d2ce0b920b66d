import { envNames } from "../../common/product.ts";
import { hookEventMeanings } from "../../contract/hooks.ts";
import { hookLimits } from "../../contract/task/hooks.ts";
import { hookVariables } from "../../contract/variables.ts";
import { code, table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

/** When hooks run, what they see, and what they may take. */
export const hookParts: Parts = {
  events: () =>
    table(
      ["Event", "When", "Runs on"],
      Object.entries(hookEventMeanings).map(([event, means]) => [
        code(event),
        means,
        event === "preemption" ? "each node that gets a notice" : "the head",
      ]),
    ),
  variables: () =>
    table(
      ["Variable", "Means"],
      Object.entries(hookVariables).map(([name, means]) => [
        code(envNames(name)[0] ?? name),
        means,
      ]),
    ),
  limits: () => table(["What", "At most"], limits),
};

const limits = [
  ["hooks of a task", String(hookLimits.hooks)],
  ["`run` of a hook", `${hookLimits.runBytes / 1024} KiB`],
  ["`timeout` of a hook", `${hookLimits.timeoutAtMostSeconds / 3600} hours`],
  [
    "log of an event",
    "10 MiB: the first 1 MiB and the last 9 MiB; a line says how much was left out",
  ],
];
