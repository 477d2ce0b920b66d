import { AppError } from "../../common/errors.ts";
import { authOperations as rows } from "../../contract/operations/auth.ts";
import { dropLogin, loginFileOf } from "../logins.ts";
import type { Run } from "../world.ts";
import { tellActions, tellDone } from "./actions.ts";

/** `outrigger logout`. */
export const logout: Run<object> = async (world) => {
  const { terminal, settings } = world;
  const { context, tokenFile } = settings;
  if (tokenFile === undefined || tokenFile !== loginFileOf(settings, context)) {
    const more = tokenFile && `; its token is in ${tokenFile}, and stays valid`;
    terminal.note(`Context ${context} has no login to end${more ?? ""}.`);
    return tellActions(world, []);
  }
  try {
    const client = await world.connect();
    for await (const _ of await client.open(rows.logout, {}));
  } catch (error) {
    // One that has ended already, or was never there.
    const isOver = ["AuthenticationError", "ConfigError"].includes((error as AppError).type);
    if (!(error instanceof AppError) || !isOver) throw error;
  }
  dropLogin(settings, context);
  terminal.note(`Logged out of ${settings.endpoint}.`);
  return tellDone(world, "logout", context);
};
