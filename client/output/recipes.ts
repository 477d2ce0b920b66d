import * as z from "zod";
import type { RecipeRecord } from "../../contract/records/recipes.ts";
import { formOf, text, type Ways } from "./shapes.ts";

/** A recipe, as `recipes list` and `recipes show` print it. */
export const recipeForm = formOf(({ of, when }: Ways<RecipeRecord>) => ({
  name: z.string(),
  type: of(z.string(), (row) => row.recipe_type),
  version: z.int(),
  description: text,
  pinned: z.boolean(),
  owner: of(text, (row) => row.user_name),
  created_at: when((row) => row.created_at),
  updated_at: when((row) => row.updated_at),
  content: z.string().describe("YAML."),
}));
