import * as statuses from "../../contract/statuses.ts";
import { code, page, table } from "./markdown.ts";

/** Every state machine of the contract. */
export const statusesPage = (): string =>
  page(
    "Statuses",
    "contract/statuses.ts",
    "What each status means and what may follow it. One that nothing follows is final.",
    ...Object.values(statuses).flatMap((value) => ("states" in value ? machineParts(value) : [])),
  );

interface Shown {
  readonly name: string;
  readonly initials: readonly string[];
  readonly states: Readonly<
    Record<string, { readonly means: string; readonly to: readonly string[] }>
  >;
}

const machineParts = ({ name, initials, states }: Shown): string[] => [
  `## ${name[0]?.toUpperCase()}${name.slice(1)}`,
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
