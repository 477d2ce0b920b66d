import { accesses, modes, type Operation } from "../../common/operation.ts";
import { operationGroups, operations } from "../../contract/api.ts";
import { code, paragraphs, table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

/** Every operation by group, and what modes and accesses mean. */
export const apiParts: Parts = {
  count: () => String(operations.length),
  operations: () =>
    paragraphs(
      operationGroups.flatMap((group) => [
        `## ${group.title}`,
        table(["Operation", "Route", "Mode", "Access", "Does"], group.operations.map(operationRow)),
      ]),
    ),
  modes: () => table(["Mode", "Answer"], Object.entries(modes)),
  accesses: () => table(["Access", "Who"], Object.entries(accesses)),
};

const operationRow = ({ name, route, mode, queue, access, summary }: Operation): string[] => [
  code(name),
  code(route),
  queue === "long" ? `${mode}, long` : mode,
  access,
  summary,
];
