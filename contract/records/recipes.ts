import * as z from "zod";
import { record } from "./record.ts";

/** A task that users keep and share; pinned ones come first in lists, then by name. */
export const RecipeRecord = record("RecipeRecord", {
  name: z.string(),
  description: z.string().nullable(),
  content: z.string().describe("YAML text."),
  recipe_type: z.string().describe("cluster, job, service, pool or volume."),
  version: z.int().describe("Counts its contents; recipes.get takes NAME@VERSION."),
  pinned: z.boolean(),
  user_id: z.string(),
  user_name: z.string().nullable(),
  created_at: z.number().describe("Unix seconds."),
  updated_at: z.number().describe("Unix seconds."),
  updated_by_id: z.string().nullable(),
  updated_by_name: z.string().nullable(),
  is_editable: z.boolean().describe("False for those that we ship."),
  is_pinnable: z.boolean(),
});
export type RecipeRecord = z.output<typeof RecipeRecord>;
