import * as z from "zod";
import { type Output, outputs } from "../../client/output/table.ts";

/** The published schema of each form of JSON that commands print. */
export const outputSchemas = outputs.map((output) => ({
  file: `docs/schemas/${output.name}.json`,
  render: () => schemaOf(output),
}));

const schemaOf = ({ name, schema, printedBy, isLines }: Output): object => {
  const commands = printedBy.join(", ");
  const lines = isLines ? " One object a line." : "";
  const $id = `https://outrigger.dev/schemas/${name}.json`;
  const { $schema, ...rest } = z.toJSONSchema(schema);
  return { $schema, $id, description: `Printed by ${commands}.${lines}`, ...rest };
};
