import type { RecipeRecord } from "../../contract/records/recipes.ts";

/** A task that a user keeps and shares, with one of its contents; instants are epoch milliseconds. */
export interface Recipe {
  readonly name: string;
  readonly type: string;
  readonly description: string | null;
  readonly isPinned: boolean;
  readonly version: number;
  readonly content: string;
  readonly user: Author;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Null until it is changed. */
  readonly updatedBy: Author | null;
}

export interface Author {
  readonly id: string;
  readonly name: string | null;
}

/** Whose recipes come with control: nobody can change them. */
export const systemUser: Author = { id: "system", name: "system" };

export const isShipped = ({ user }: Pick<Recipe, "user">): boolean => user.id === systemUser.id;

export const toRecord = (recipe: Recipe): RecipeRecord => ({
  name: recipe.name,
  description: recipe.description,
  content: recipe.content,
  recipe_type: recipe.type,
  version: recipe.version,
  pinned: recipe.isPinned,
  user_id: recipe.user.id,
  user_name: recipe.user.name,
  created_at: recipe.createdAt / 1_000,
  updated_at: recipe.updatedAt / 1_000,
  updated_by_id: recipe.updatedBy?.id ?? null,
  updated_by_name: recipe.updatedBy?.name ?? null,
  is_editable: !isShipped(recipe),
  is_pinnable: true,
});
