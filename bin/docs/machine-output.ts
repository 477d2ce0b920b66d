import { outputs } from "../../client/output/table.ts";
import { codes, table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

/** What commands print as JSON. */
export const machineOutputParts: Parts = {
  schemas: () => table(["Commands", "Schema"], outputs.map(rowOf)),
};

const rowOf = ({ name, printedBy, isLines }: (typeof outputs)[number]): string[] => [
  name === "error" ? "any that fails, on stderr" : codes(printedBy),
  `[${name}](schemas/${name}.json)${isLines ? ", one object a line" : ""}`,
];
