import { fail } from "../../common/errors.ts";
import { recipeOperations as rows } from "../../contract/operations/recipes.ts";
import type { RecipeRecord } from "../../contract/records/recipes.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { getRecipe } from "../entrypoint.ts";
import { readBytes } from "../named-file.ts";
import { recipeForm } from "../output/recipes.ts";
import { ago, type Column } from "../rendering.ts";
import { kindOf, type SelectionOptions } from "../selection.ts";
import type { Run, World } from "../world.ts";
import { tellDone } from "./actions.ts";
import { answerOne, listing, type OutputOptions } from "./answers.ts";
import { deleteSelected } from "./directly.ts";

type Words = readonly string[];

const columnsOf = (now: Date): Column<RecipeRecord>[] => [
  { title: "NAME", text: (row) => row.name, least: 12 },
  { title: "TYPE", text: (row) => row.recipe_type },
  { title: "VERSION", text: (row) => String(row.version), right: true },
  { title: "PINNED", text: (row) => (row.pinned ? "yes" : "-") },
  { title: "OWNER", text: (row) => row.user_name ?? row.user_id, least: 6, spare: true },
  { title: "UPDATED", text: (row) => ago(row.updated_at, now), spare: true },
  { title: "DESCRIPTION", text: (row) => row.description ?? "-", least: 12, spare: true },
];

/** `outrigger recipes list`. */
export const list = listing({
  read: (
    client,
    { mine = false, pinned = false, type = null as never }: OptionsOf<"recipes list">,
  ) =>
    client.callAndGet(rows.list, {
      ...{ my_recipes_only: mine, pinned_only: pinned, recipe_type: type },
    }),
  form: recipeForm,
  columns: columnsOf,
  empty: "No recipes. Create one: outrigger recipes create NAME task.yaml",
});

/** `outrigger recipes show`: its YAML. */
export const show: Run<OutputOptions> = async (world, [name = ""], options) => {
  const recipe = await getRecipe(world, name);
  if (world.json) return answerOne(world, options, recipeForm, recipe);
  world.terminal.answer(recipe.content.trimEnd());
};

/** `outrigger recipes create`. */
export const create: Command<"recipes create"> = async (
  world,
  [name = "", file = ""],
  { type: recipe_type = "cluster", description = null as never },
) => {
  const content = readBytes(world, file).toString();
  const client = await world.connect();
  await client.callAndGet(rows.create, { name, content, recipe_type, description });
  tell(
    world,
    "create",
    name,
    `Created recipe ${name}. To run it, name recipes:${name} in place of a file.`,
  );
};

/** `outrigger recipes update`. */
export const update: Command<"recipes update"> = async (
  world,
  [name = "", file],
  { description = null as never },
) => {
  if (file === undefined && description === null)
    fail("UsageError", "name a file with the new content, or give a --description");
  const content = file === undefined ? (null as never) : readBytes(world, file).toString();
  const client = await world.connect();
  const input = { recipe_name: name, content, description };
  const changed = await client.callAndGet(rows.update, input);
  tell(world, "update", name, `Recipe ${name} has version ${changed?.version}.`);
};

/** `outrigger recipes delete`. */
export const remove = (world: World, names: Words, options: SelectionOptions) =>
  deleteSelected(world, recipes, names, options, async (client, { name }) => {
    const isDone = await client.callAndGet(rows.delete, { recipe_name: name });
    if (!isDone) fail("PermissionDeniedError", `recipe ${name} is not yours`);
  });

const recipes = kindOf("recipe", "recipes list", (client) => client.callAndGet(rows.list, {}));

/** `outrigger recipes pin`. */
export const pin = (world: World, [name = ""]: Words) => setPinned(world, name, true);

/** `outrigger recipes unpin`. */
export const unpin = (world: World, [name = ""]: Words) => setPinned(world, name, false);

async function setPinned(world: World, name: string, pinned: boolean): Promise<undefined> {
  const client = await world.connect();
  await client.callAndGet(rows.pin, { recipe_name: name, pinned });
  const verb = pinned ? "pin" : "unpin";
  tell(world, verb, name, `Recipe ${name} is ${pinned ? "pinned" : "no longer pinned"}.`);
}

function tell(world: World, verb: string, name: string, note: string): undefined {
  world.terminal.note(note);
  tellDone(world, `recipes ${verb}`, name);
}
