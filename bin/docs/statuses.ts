import type { Machine } from "../../common/machine.ts";
import * as statuses from "../../contract/statuses.ts";
import { code, codes, paragraphs, table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

type Shown = Pick<Machine<string>, "name" | "initials" | "states">;

/** Machines whose statuses commands do not print. */
const internal: readonly Shown[] = [statuses.partMachine, statuses.lifecycleMachine];

const machines: readonly Shown[] = Object.values(statuses).flatMap((value) =>
  "states" in value ? [value] : [],
);

/** The statuses that commands and the API show. */
export const statusParts: Parts = {
  statuses: () =>
    paragraphs(machines.filter((one) => !internal.includes(one)).flatMap(machineParts)),
};

/** The statuses that stay between control and its agents. */
export const internalStatusParts: Parts = {
  statuses: () => paragraphs(internal.flatMap(machineParts)),
};

function machineParts({ name, initials, states }: Shown): string[] {
  return [
    `## ${name[0]?.toUpperCase()}${name.slice(1).replaceAll("_", " ")}`,
    `Begins as ${initials.map(code).join(" or ")}.`,
    table(
      ["Status", "Means", "May become"],
      Object.entries(states).map(([status, { means, to }]) => [
        code(status),
        means,
        codes(to) || "–",
      ]),
    ),
  ];
}
