import { fail } from "../common/errors.ts";
import { readAll } from "../common/limited.ts";
import { recipeOperations } from "../contract/operations/recipes.ts";
import type { RecipeRecord } from "../contract/records/recipes.ts";
import { hintOf, listedBy } from "../contract/spelling.ts";
import { type Entrypoint, filled, readEntrypoint } from "./task-text.ts";
import type { Input } from "./terminal.ts";
import type { World } from "./world.ts";

const recipePrefix = "recipes:";

/**
 * The task of an entrypoint; `-` is YAML on stdin, `recipes:NAME` a recipe. Throws as `readEntrypoint` does,
 * and `NotFoundError` for a recipe that there is not.
 */
export async function entrypointOf(world: World, words: readonly string[]): Promise<Entrypoint> {
  const { cwd, streams } = world;
  const [first = ""] = words;
  if (words.length === 1 && first.startsWith(recipePrefix)) {
    const { content } = await getRecipe(world, first.slice(recipePrefix.length));
    return { text: content, file: first };
  }
  if (words.length !== 1 || words[0] !== "-") return readEntrypoint(words, cwd);
  return { text: filled(await readStdin(streams.stdin), "stdin"), file: "stdin" };
}

/** A recipe, or a version of it: `NAME@2`. Throws `NotFoundError`. */
export async function getRecipe({ connect }: World, name: string): Promise<RecipeRecord> {
  const client = await connect();
  const recipe = await client.callAndGet(recipeOperations.get, { recipe_name: name });
  if (recipe !== null) return recipe;
  const known = (await client.callAndGet(recipeOperations.list, {})).map(({ name: own }) => own);
  const hint = hintOf(name, known, listedBy("recipes list"));
  return fail("NotFoundError", `there is no recipe ${name}; ${hint}`);
}

const largestBytes = 16 * 1024 * 1024;

/** What comes on stdin, to its end. Throws `UsageError` at a terminal, `ValueError` when it is too much. */
export async function readStdin(stdin: Input): Promise<string> {
  if (stdin.isTTY) fail("UsageError", "- reads from stdin; pipe a file into it: ... - < task.yaml");
  const bytes = await readAll(stdin, largestBytes, () =>
    fail("ValueError", `stdin has more than ${largestBytes} bytes`),
  );
  return bytes.toString();
}
