import { accesses, modes, type Operation } from "../../common/operation.ts";
import { operationGroups, operations } from "../../contract/api.ts";
import { code, page, table } from "./markdown.ts";

/** Every operation by group, then what modes and accesses mean. */
export const apiPage = (): string =>
  page(
    "HTTP API",
    "contract/operations",
    `The API has ${operations.length} operations. A running control shows their fields at \`/docs\` for
people and at \`/openapi.json\` for programs.`,
    ...operationGroups.flatMap((group) => [
      `## ${group.title}`,
      table(["Operation", "Route", "Mode", "Access", "Does"], group.operations.map(operationRow)),
    ]),
    "## Modes",
    "How an operation answers. A `long` one waits in the queue for slow work.",
    table(["Mode", "Answer"], Object.entries(modes)),
    "## Access",
    "Who may call, once a login layer knows the caller.",
    table(["Access", "Who"], Object.entries(accesses)),
  );

const operationRow = ({ name, route, mode, queue, access, summary }: Operation): string[] => [
  code(name),
  code(route),
  queue === "long" ? `${mode}, long` : mode,
  access,
  summary,
];
