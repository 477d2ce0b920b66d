import { text } from "node:stream/consumers";
import { count } from "../../common/count.ts";
import { fail } from "../../common/errors.ts";
import { userOperations as rows } from "../../contract/operations/users.ts";
import { readBytes } from "../named-file.ts";
import { importForm } from "../output/access.ts";
import type { Run } from "../world.ts";
import { answerOne, type OutputOptions } from "./answers.ts";

/** `outrigger users import`. */
export const importUsers: Run<OutputOptions> = async (world, [file = ""], options) => {
  const { terminal, streams } = world;
  const content = file === "-" ? await text(streams.stdin) : readBytes(world, file).toString();
  const client = await world.connect();
  const result = await client.call(rows.import, { csv_content: content });
  const errors = [...result.parse_errors, ...result.creation_errors];
  if (world.json) answerOne(world, options, importForm, { imported: result.success_count, errors });
  else for (const error of errors) terminal.note(`${file}: ${error}`);
  if (errors.length > 0)
    fail("ValueError", `nothing was imported: ${count(errors.length, "line")} must be mended`);
  terminal.note(`Imported ${count(result.success_count, "user")}.`);
};

/** `outrigger users export`. */
export const exportUsers: Run<object> = async (world) => {
  const client = await world.connect();
  const { csv_content: content, user_count: users } = await client.call(rows.export, {});
  await world.terminal.write(Buffer.from(content));
  world.terminal.note(`${count(users, "user")}; add passwords before you import them elsewhere.`);
};
