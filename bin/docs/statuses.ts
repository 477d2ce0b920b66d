import type { Machine } from "../../common/machine.ts";
import * as statuses from "../../contract/statuses.ts";
import { code, page, table } from "./markdown.ts";

type Shown = Pick<Machine<string>, "name" | "initials" | "states">;

/** Machines whose statuses commands do not print. */
const internal: readonly Shown[] = [statuses.partMachine, statuses.lifecycleMachine];

const machines: readonly Shown[] = Object.values(statuses).flatMap((value) =>
  "states" in value ? [value] : [],
);

/** The statuses that commands and the API show. */
export const statusesPage = (): string =>
  page(
    "Statuses",
    "contract/statuses.ts",
    "The statuses that commands and the API show, what each one means, and which ones may follow it. A status " +
      "with no successor is final.",
    ...machines.filter((one) => !internal.includes(one)).flatMap(machineParts),
  );

/** The statuses that stay between control and its agents. */
export const internalStatusesPage = (): string =>
  page(
    "Internal statuses",
    "contract/statuses.ts",
    "Statuses that control and agents use among themselves; part of the [architecture](architecture.md). Commands " +
      "print the ones in [statuses](statuses.md). `outrigger status -o json` shows the status of a lifecycle as " +
      "`lifecycle.phase`.",
    ...internal.flatMap(machineParts),
  );

function machineParts({ name, initials, states }: Shown): string[] {
  return [
    `## ${name[0]?.toUpperCase()}${name.slice(1).replaceAll("_", " ")}`,
    `Begins as ${initials.map(code).join(" or ")}.`,
    table(
      ["Status", "Means", "May become"],
      Object.entries(states).map(([status, { means, to }]) => [
        code(status),
        means,
        to.map(code).join(", ") || "–",
      ]),
    ),
  ];
}
