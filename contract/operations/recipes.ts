import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { document, longText, text } from "../caps.ts";
import { RecipeRecord } from "../records/recipes.ts";
import { body, flag, optional } from "./fields.ts";

const recipeName = text.describe("Recipe.");
const anyVersion = text.describe("Recipe, or NAME@VERSION.");

/** Recipes: tasks that users keep and share. */
export const recipeOperations = requestsOf("recipes.", {
  mine: {
    requestName: "recipes.list",
    route: "GET /recipes",
    summary: "Pinned recipes and the caller's own.",
    access: "viewer",
    output: z.array(RecipeRecord),
  },
  list: {
    route: "POST /recipes/list",
    summary: "List recipes.",
    access: "viewer",
    input: body("RecipeListBody", {
      pinned_only: flag,
      my_recipes_only: flag.describe("The caller's own; pinned_only comes first."),
      recipe_type: optional(text).describe("cluster, job, service, pool or volume."),
    }),
    output: z.array(RecipeRecord),
    errors: ["ValueError"],
  },
  get: {
    route: "POST /recipes/get",
    summary: "One recipe; null if it does not exist.",
    access: "viewer",
    input: body("RecipeGetBody", { recipe_name: anyVersion }),
    output: RecipeRecord.nullable(),
  },
  create: {
    route: "POST /recipes/create",
    summary: "Create a recipe.",
    access: "user",
    input: body("RecipeCreateBody", {
      name: text.describe("Letters, digits and dashes, at most 40."),
      content: document.describe("YAML text; no local files."),
      recipe_type: text.describe("cluster, job, service, pool or volume."),
      description: optional(longText),
      owner_name: optional(text).describe("Name to show instead of the caller's."),
    }),
    output: RecipeRecord,
    errors: ["ValueError", "InvalidRecipeNameError", "RecipeAlreadyExistsError"],
  },
  update: {
    route: "POST /recipes/update",
    summary: "Change a recipe.",
    access: "user",
    about: { recipe: "recipe_name" },
    input: body("RecipeUpdateBody", {
      recipe_name: recipeName,
      description: optional(longText).describe("Null leaves it."),
      content: optional(document).describe("Null leaves it."),
    }),
    output: RecipeRecord.nullable(),
    errors: ["ValueError", "PermissionDeniedError"],
  },
  delete: {
    route: "POST /recipes/delete",
    summary: "Delete a recipe; false when it is not the caller's.",
    access: "user",
    input: body("RecipeDeleteBody", { recipe_name: recipeName }),
    output: z.boolean(),
    errors: ["ValueError"],
  },
  pin: {
    route: "POST /recipes/pin",
    summary: "Pin a recipe, or unpin it.",
    access: "admin",
    input: body("RecipePinBody", { recipe_name: recipeName, pinned: z.boolean() }),
    output: RecipeRecord.nullable(),
    errors: ["ValueError"],
  },
});
