import * as z from "zod";
import type { RecipeRecord } from "../../contract/records/recipes.ts";
import { form, instant, instantOf } from "./shapes.ts";

/** A recipe, as `recipes list` and `recipes show` print it. */
export const recipeForm = form(
  z.strictObject({
    name: z.string(),
    type: z.string(),
    version: z.int(),
    description: z.string().nullable(),
    pinned: z.boolean(),
    owner: z.string().nullable(),
    created_at: instant.nullable(),
    updated_at: instant.nullable(),
    content: z.string().describe("YAML."),
  }),
  (row: RecipeRecord) => ({
    ...{ name: row.name, type: row.recipe_type, version: row.version },
    ...{ description: row.description, pinned: row.pinned, owner: row.user_name },
    created_at: instantOf(row.created_at),
    updated_at: instantOf(row.updated_at),
    content: row.content,
  }),
);
