import { fail } from "../../common/errors.ts";
import { commands } from "../catalog.ts";
import { type Shell, scripts } from "../completion-scripts.ts";
import type { Client } from "../sdk.ts";
import { listServices } from "../services.ts";
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

/** What there is to complete, and where its names come from. */
const kinds: Readonly<Record<string, (client: Client, incomplete: string) => Promise<string[]>>> = {
  cluster_name: (client, incomplete) => client.read("/api/completion/cluster_name", { incomplete }),
  api_request: (client, incomplete) => client.read("/api/completion/api_request", { incomplete }),
  service_name: async (client, incomplete) => {
    const names = (await listServices(client, [])).map(({ name }) => name);
    return names.filter((name) => name.startsWith(incomplete));
  },
};

/** `outrigger complete`: a name a line; nothing at all when control cannot be asked. */
export async function complete(
  world: World,
  [kind = "", incomplete = ""]: readonly string[],
): Promise<undefined> {
  const list = kinds[kind] ?? fail("UsageError", `nothing completes ${kind}`);
  const names = await list(await world.connect(), incomplete).catch(() => []);
  if (names.length > 0) world.terminal.answer(names.join("\n"));
}
