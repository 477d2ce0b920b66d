import { fail } from "../../common/errors.ts";
import { commands } from "../catalog.ts";
import { type NameKind, type Offer, offersFor } from "../completion-offers.ts";
import { type Shell, scripts } from "../completion-scripts.ts";
import { homeContext, readContexts } from "../contexts.ts";
import { listServices } from "../services.ts";
import { readHome } from "../settings.ts";
import type { Run, World } from "../world.ts";

const isShell = (word: string): word is Shell => Object.hasOwn(scripts, word);

/** `outrigger completion`: the script that a shell sources. */
export const completion: Run<object> = async ({ terminal }, [shell = ""]) => {
  if (!isShell(shell)) fail("UsageError", `${shell} is none of ${Object.keys(scripts).join(", ")}`);
  terminal.answer(scripts[shell]);
};

/** Where the names of a kind come from. */
const names: Readonly<Record<NameKind, (world: World, current: string) => Promise<string[]>>> = {
  cluster_name: async (world, incomplete) =>
    (await world.connect()).read("/api/completion/cluster_name", { incomplete }),
  api_request: async (world, incomplete) =>
    (await world.connect()).read("/api/completion/api_request", { incomplete }),
  service_name: async (world) =>
    (await listServices(await world.connect(), [])).map(({ name }) => name),
  context_name: async ({ env }) => [
    homeContext,
    ...Object.keys(readContexts(readHome(env)).contexts),
  ],
};

/**
 * `outrigger complete`: what may stand in place of the first word, after the others; a word a line, a tab and its
 * meaning, or `:files`. Nothing at all when control cannot be asked.
 */
export const complete: Run<object> = async (world, [asked = "", ...words]) => {
  // bash takes `--output=json` for three words.
  const before = words.filter((word) => word !== "=");
  const [, flag = "", current = ""] = /^=(?:(--[\w-]+)=)?(.*)$/s.exec(asked) ?? [];
  const shown = commands.filter(({ hidden }) => !hidden);
  const offers = offersFor(shown, flag === "" ? before : [...before, flag], current);
  if (offers === "files") {
    world.terminal.answer(":files");
    return;
  }
  const found = typeof offers === "string" ? await lookUp(world, offers, current) : offers;
  const lines = found
    .filter(({ word }) => word.startsWith(current))
    .map(({ word, means }) => `${flag && `${flag}=`}${word}${means ? `\t${means}` : ""}`);
  if (lines.length > 0) world.terminal.answer(lines.join("\n"));
};

async function lookUp(world: World, kind: NameKind, current: string): Promise<readonly Offer[]> {
  const found = await names[kind](world, current).catch(() => []);
  return found.map((word) => ({ word }));
}
