import type { Operation } from "../../common/operation.ts";
import { operationGroups } from "../../contract/api.ts";
import { covers, type Ownership, ownership, roleNames, roles } from "../../contract/roles.ts";
import { code, page, table } from "./markdown.ts";

/** Who may call which operation, and on what. */
export const rolesPage = (): string =>
  page(
    "Roles",
    "contract/roles.ts and contract/operations/",
    "Every user and every service account has a role. It applies in all of its workspaces: see " +
      "[logins](login.md). The control plane of a user who has not set up logins serves that user " +
      "as an administrator.",
    table(
      ["Role", "May"],
      Object.entries(roles).map(([role, means]) => [code(role), means]),
    ),
    "## Operations",
    "`–` is answered 403, with the role that is needed. Lists show only what you may see.",
    ...operationGroups.flatMap(({ title, operations }) => [
      `### ${title}`,
      table(["Operation", ...roleNames, "About"], operations.map(rowOf)),
    ]),
  );

const rowOf = ({ name, access, about = {} }: Operation): string[] => [
  code(name),
  ...roleNames.map((role) => (access === "open" || covers(role, access) ? "yes" : "–")),
  access === "open"
    ? "no login needed"
    : Object.entries(about)
        .map(([noun, field]) => `${code(field)}: ${ownership[noun as Ownership]}`)
        .join("; "),
];
