import { userOperations as rows } from "../../contract/operations/users.ts";
import { identityForm } from "../output/access.ts";
import { sheet } from "../rendering.ts";
import type { Run } from "../world.ts";
import { answerOne, type OutputOptions } from "./answers.ts";

/** `outrigger whoami`. */
export const whoami: Run<OutputOptions> = async (world, _operands, options) => {
  const { terminal, settings } = world;
  const { context, endpoint } = settings;
  const client = await world.connect();
  const caller = await client.call(rows.role, {});
  if (world.json) return answerOne(world, options, identityForm, { ...caller, context, endpoint });
  const facts = [
    ["User", `${caller.name} (${caller.id})`],
    ["Role", caller.role],
    ["Context", context],
    ["Endpoint", endpoint],
  ] as const;
  terminal.answer(sheet(facts, terminal.paint));
};
