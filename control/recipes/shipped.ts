import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Ground } from "../ground.ts";
import { isShipped, type Recipe, systemUser } from "./schema.ts";
import { addRecipe, changeRecipe, findRecipe } from "./store.ts";

const folder = join(import.meta.dirname, "shipped");

/** A recipe that comes with control: `NAME.TYPE.yaml`, whose first line is a comment that describes it. */
type Shipped = Pick<Recipe, "name" | "type" | "description" | "content">;

/** The recipes that come with control. */
export const shippedRecipes = (): Shipped[] =>
  readdirSync(folder)
    .sort()
    .map((file) => {
      const [name = "", type = ""] = file.split(".");
      const content = readFileSync(join(folder, file), "utf8");
      const [first = ""] = content.split("\n", 1);
      return { name, type, description: first.replace(/^#\s*/, ""), content };
    });

/** Adds the recipes that come with control, and brings those up to date that an earlier one came with. */
export async function ensureShippedRecipes(ctx: Ground): Promise<void> {
  const at = ctx.now().getTime();
  await ctx.batch(async (tx) => {
    for (const shipped of shippedRecipes()) {
      const known = await findRecipe(tx, shipped.name);
      const fresh = {
        user: systemUser,
        isPinned: true,
        version: 1,
        createdAt: at,
        updatedBy: null,
      };
      if (known === undefined) await addRecipe(tx, { ...fresh, ...shipped, updatedAt: at });
      // One of a user's has the name, or nothing has changed.
      else if (isShipped(known) && known.content !== shipped.content)
        await changeRecipe(tx, { ...known, ...shipped, version: known.version + 1, updatedAt: at });
    }
  });
}
