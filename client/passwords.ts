import { text } from "node:stream/consumers";
import { fail } from "../common/errors.ts";
import { Declined } from "./declined.ts";
import type { World } from "./world.ts";

/**
 * A password, from stdin or asked for twice without showing it. Throws `UsageError` where nobody can be
 * asked or the two differ, and `Declined` where the question is not answered.
 */
export async function readPassword(world: World, fromStdin: boolean): Promise<string> {
  const { terminal, streams, signal } = world;
  if (fromStdin) return (await text(streams.stdin)).replace(/\r?\n$/, "");
  if (!terminal.canAsk)
    fail(
      "UsageError",
      "there is no terminal to ask on; pass --password-stdin to pipe the password",
    );
  const said = await terminal.askHidden(["Password: ", "Password again: "], signal);
  if (typeof said === "string") throw new Declined(said);
  const [password = "", again] = said;
  if (password !== again) fail("UsageError", "the two passwords differ; nothing was changed");
  return password;
}
