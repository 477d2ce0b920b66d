import type { Operation } from "../../common/operation.ts";
import { operationGroups } from "../../contract/api.ts";
import { covers, type Ownership, ownership, roleNames, roles } from "../../contract/roles.ts";
import { code, paragraphs, table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

/** What roles may do, and who may call which operation, and on what. */
export const roleParts: Parts = {
  roles: () =>
    table(
      ["Role", "May"],
      Object.entries(roles).map(([role, means]) => [code(role), means]),
    ),
  operations: () =>
    paragraphs(
      operationGroups.flatMap(({ title, operations }) => [
        `### ${title}`,
        table(["Operation", ...roleNames, "About"], operations.map(rowOf)),
      ]),
    ),
};

const rowOf = ({ name, access, about = {} }: Operation): string[] => [
  code(name),
  ...roleNames.map((role) => (access === "open" || covers(role, access) ? "yes" : "–")),
  access === "open"
    ? "no login needed"
    : Object.entries(about)
        .map(([noun, field]) => `${code(field)}: ${ownership[noun as Ownership]}`)
        .join("; "),
];
