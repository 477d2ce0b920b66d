import { protocol } from "../../common/product.ts";
import { sheet, styleOfStatus } from "../rendering.ts";
import type { World } from "../world.ts";
import type { OutputOptions } from "./answers.ts";

/** `outrigger api info`. */
export async function info(
  world: World,
  _operands: readonly string[],
  { output }: OutputOptions,
): Promise<undefined> {
  const { terminal, settings } = world;
  const { endpoint } = settings;
  const client = await world.connect();
  const health = await client.health();
  if (output === "json") {
    terminal.answer(JSON.stringify({ endpoint, ...health }, null, 2));
    return;
  }
  const { status, version, commit, api_version: api, user } = health;
  const style = styleOfStatus(status);
  const facts = [
    ["Endpoint", endpoint],
    ["Health", style === undefined ? status : terminal.paint(style, status)],
    ["Version", `${version}${commit ? ` (${commit.slice(0, 12)})` : ""}`],
    ["API", `${api}; this client speaks ${protocol.apiVersion}`],
    ["User", user ? `${user.name ?? "-"} (${user.id})` : settings.userName],
  ] as const;
  terminal.answer(sheet(facts, terminal.paint));
}
