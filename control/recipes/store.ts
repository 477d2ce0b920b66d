import type { Connection, Queries } from "../db/open.ts";
import { flag, named, rowsOf, user } from "../db/rows.ts";
import type { Author, Recipe } from "./schema.ts";

/** Older contents are dropped. */
const versionsAtMost = 50;

const recipes = rowsOf<Omit<Recipe, "content">>()(
  "recipes",
  ["name", "description", "version", "createdAt", "updatedAt"],
  {
    type: named("recipe_type"),
    isPinned: named("pinned", flag),
    user,
    updatedBy: () => ({
      columns: ["updated_by_id", "updated_by_name"],
      read: ({ updated_by_id: id, updated_by_name: name }) => (id === null ? null : { id, name }),
      write: (by: Author | null) => ({
        updated_by_id: by?.id ?? null,
        updated_by_name: by?.name ?? null,
      }),
    }),
  },
);

/** Which recipes a list has; all where nothing is said. */
export interface RecipeFilter {
  readonly pinnedOnly?: boolean;
  readonly ownerId?: string;
  /** Those that are pinned are listed, too. */
  readonly orPinned?: boolean;
  readonly type?: string | null;
}

/** Recipes with their latest contents, those that are pinned first, then by name. */
export async function listRecipes(
  db: Queries,
  { pinnedOnly = false, ownerId, orPinned = false, type }: RecipeFilter,
): Promise<Recipe[]> {
  const rows = await selectLatest(db)
    .$if(pinnedOnly, (query) => query.where("pinned", "=", 1))
    .$if(ownerId !== undefined, (query) =>
      query.where((where) =>
        where.or([
          where("user_id", "=", ownerId ?? ""),
          ...(orPinned ? [where("pinned", "=", 1)] : []),
        ]),
      ),
    )
    .$if(typeof type === "string", (query) => query.where("recipe_type", "=", type ?? ""))
    .orderBy("pinned", "desc")
    .orderBy("recipes.name")
    .execute();
  return rows.map(toRecipe);
}

/** The recipe of this name with its latest content, or with that of a version. */
export async function findRecipe(
  db: Queries,
  name: string,
  version?: number,
): Promise<Recipe | undefined> {
  const query =
    version === undefined ? selectLatest(db) : selectAny(db).where("of.version", "=", version);
  const row = await query.where("recipes.name", "=", name).executeTakeFirst();
  return row && toRecipe(row);
}

/** Whose a recipe is; undefined where there is none of this name. */
export async function findRecipeOwner(db: Queries, name: string): Promise<Author | undefined> {
  const row = await db
    .selectFrom("recipes")
    .select(["user_id", "user_name"])
    .where("name", "=", name)
    .executeTakeFirst();
  return row && { id: row.user_id, name: row.user_name };
}

/** Writes a new recipe; false when its name is taken. */
export async function addRecipe(db: Connection, recipe: Recipe): Promise<boolean> {
  if (!(await recipes.add(db, recipe))) return false;
  const { name, version, content } = recipe;
  await db.insertInto("recipe_versions").values({ name, version, content }).execute();
  return true;
}

/** Writes a recipe that has changed, whose content is a version of its own. */
export async function changeRecipe(db: Connection, recipe: Recipe): Promise<void> {
  const { name, version, content } = recipe;
  await recipes.change(db, { name }, recipe);
  await db
    .insertInto("recipe_versions")
    .values({ name, version, content })
    .onConflict((conflict) => conflict.columns(["name", "version"]).doNothing())
    .execute();
  await db
    .deleteFrom("recipe_versions")
    .where("name", "=", name)
    .where("version", "<=", version - versionsAtMost)
    .execute();
}

/** Forgets a recipe and all its contents. */
export async function dropRecipe(db: Connection, name: string): Promise<void> {
  await db.deleteFrom("recipe_versions").where("name", "=", name).execute();
  await db.deleteFrom("recipes").where("name", "=", name).execute();
}

const selectAny = (db: Queries) =>
  db
    .selectFrom("recipes")
    .innerJoin("recipe_versions as of", "of.name", "recipes.name")
    .selectAll("recipes")
    .select(["of.content", "of.version as version"]);

const selectLatest = (db: Queries) => selectAny(db).whereRef("of.version", "=", "recipes.version");

const toRecipe = (row: { content: string }): Recipe => ({
  ...recipes.toItem(row),
  content: row.content,
});
