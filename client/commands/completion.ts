import { fail } from "../../common/errors.ts";
import { commands } from "../catalog.ts";
import { type Shell, scripts } from "../completion-scripts.ts";
import type { World } from "../world.ts";

const isShell = (word: string): word is Shell => Object.hasOwn(scripts, word);

/** `outrigger completion`: the script that a shell sources. */
export async function completion(
  { terminal }: World,
  [shell = ""]: readonly string[],
): Promise<undefined> {
  if (!isShell(shell)) fail("UsageError", `${shell} is none of ${Object.keys(scripts).join(", ")}`);
  terminal.answer(scripts[shell](commands.filter(({ hidden }) => !hidden)));
}

/** What control completes. */
const kinds = new Set(["cluster_name", "api_request"]);

/** `outrigger complete`: a name a line; nothing at all when control cannot be asked. */
export async function complete(
  world: World,
  [kind = "", incomplete = ""]: readonly string[],
): Promise<undefined> {
  if (!kinds.has(kind)) fail("UsageError", `nothing completes ${kind}`);
  const client = await world.connect();
  const path = `/api/completion/${kind}`;
  const names = await client.read<string[]>(path, { incomplete }).catch(() => []);
  if (names.length > 0) world.terminal.answer(names.join("\n"));
}
