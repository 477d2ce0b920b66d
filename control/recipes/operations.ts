import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { recipeOperations as rows } from "../../contract/operations/recipes.ts";
import { listedBy } from "../../contract/spelling.ts";
import { isOwnedBy } from "../access/identity.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { checkContent, checkType } from "./content.ts";
import { isShipped, type Recipe, toRecord } from "./schema.ts";
import {
  addRecipe,
  changeRecipe,
  dropRecipe,
  findRecipe,
  listRecipes,
  type RecipeFilter,
} from "./store.ts";

/** Recipes; that only their creators and administrators change one is a rule of its row. */
export const recipeOperations: Bound[] = [
  bind(rows.mine, async (ctx, _input, { user }) => list(ctx, { ownerId: user.id, orPinned: true })),
  bind(rows.list, async (ctx, input, { user }) => {
    if (input.recipe_type !== null) checkType(input.recipe_type);
    const ownerId = input.my_recipes_only && !input.pinned_only ? { ownerId: user.id } : {};
    return list(ctx, { pinnedOnly: input.pinned_only, type: input.recipe_type, ...ownerId });
  }),
  bind(rows.get, async ({ db }, { recipe_name: words }) => {
    const [, name = words, version] = /^(.+)@(\d{1,9})$/.exec(words) ?? [];
    const recipe = await findRecipe(db, name, version === undefined ? undefined : Number(version));
    return recipe === undefined ? null : toRecord(recipe);
  }),
  bind(rows.create, create),
  bind(rows.update, update),
  bind(rows.delete, remove),
  bind(rows.pin, async (ctx, { recipe_name: name, pinned }) =>
    change(ctx, name, (recipe) => ({ ...recipe, isPinned: pinned })),
  ),
];

const list = async ({ db }: Ground, filter: RecipeFilter) =>
  (await listRecipes(db, filter)).map(toRecord);

const namePattern = /^[A-Za-z0-9][A-Za-z0-9-]{0,39}$/;

async function create(ctx: Ground, input: InputOf<typeof rows.create>, { user }: Call) {
  const { name, content, recipe_type: type, description, owner_name: ownerName } = input;
  if (!namePattern.test(name))
    fail(
      "InvalidRecipeNameError",
      `the name of a recipe has up to 40 letters, digits and dashes, and does not begin with a dash: ${name}`,
    );
  checkContent(type, content);
  const at = ctx.now().getTime();
  const recipe: Recipe = {
    ...{ name, type, content, description, version: 1, isPinned: false, updatedBy: null },
    ...{ user: { id: user.id, name: ownerName ?? user.name }, createdAt: at, updatedAt: at },
  };
  if (!(await ctx.batch((tx) => addRecipe(tx, recipe))))
    fail("RecipeAlreadyExistsError", `recipe ${name} already exists`);
  return toRecord(recipe);
}

async function update(ctx: Ground, input: InputOf<typeof rows.update>, { user }: Call) {
  const { recipe_name: name, content, description } = input;
  return change(ctx, name, (recipe) => {
    requireOwn(recipe);
    const given = content ?? recipe.content;
    const isNew = given !== recipe.content;
    if (!isNew && (description ?? recipe.description) === recipe.description) return recipe;
    if (isNew) checkContent(recipe.type, given);
    return {
      ...{ ...recipe, content: given, description: description ?? recipe.description },
      version: recipe.version + (isNew ? 1 : 0),
      updatedAt: ctx.now().getTime(),
      updatedBy: { id: user.id, name: user.name },
    };
  });
}

/** Existing clients take false for a recipe that is unknown, or not the caller's. */
async function remove(ctx: Ground, { recipe_name: name }: InputOf<typeof rows.delete>, call: Call) {
  return ctx.batch(async (tx) => {
    const recipe = await findRecipe(tx, name);
    if (recipe === undefined || !isOwnedBy(call, recipe.user.id)) return false;
    requireOwn(recipe);
    await dropRecipe(tx, name);
    return true;
  });
}

async function change(ctx: Ground, name: string, changed: (recipe: Recipe) => Recipe) {
  const recipe = await ctx.batch(async (tx) => {
    const next = changed(await getRecipe(tx, name));
    await changeRecipe(tx, next);
    return next;
  });
  return toRecord(recipe);
}

const getRecipe = async (tx: Connection, name: string): Promise<Recipe> =>
  (await findRecipe(tx, name)) ??
  fail("ValueError", `there is no recipe ${name}; ${listedBy("recipes list")}`);

/** Throws `ValueError` for a recipe that comes with control. */
function requireOwn(recipe: Recipe): void {
  if (isShipped(recipe))
    fail(
      "ValueError",
      `recipe ${recipe.name} comes with the control plane; create one of your own from it`,
    );
}
