import assert from "node:assert/strict";
import { test } from "node:test";
import { recipeOperations as rows } from "../../../contract/operations/recipes.ts";
import { taskOperations } from "../../../contract/operations/tasks.ts";
import { checkContent } from "../../../control/recipes/content.ts";
import { ensureShippedRecipes, shippedRecipes } from "../../../control/recipes/shipped.ts";
import { changeRecipe, findRecipe } from "../../../control/recipes/store.ts";
import { testWorld } from "../../helpers/world.ts";

const sweep = { name: "sweep", content: "run: echo 1", recipe_type: "job" };

test("a recipe keeps its versions, and each of them can be had by its name", async (t) => {
  const world = await testWorld(t);
  const ana = await world.as("ana");

  const made = await ana.run(rows.create, { ...sweep, description: "Rates" });
  const changed = await ana.run(rows.update, { recipe_name: "sweep", content: "run: echo 2" });
  const same = await ana.run(rows.update, { recipe_name: "sweep", content: "run: echo 2" });

  assert.deepEqual([made.version, changed?.version, same?.version], [1, 2, 2]);
  assert.deepEqual([changed?.description, changed?.updated_by_name], ["Rates", "ana"]);
  const contentOf = async (name: string) =>
    (await world.run(rows.get, { recipe_name: name }))?.content;
  assert.equal(await contentOf("sweep"), "run: echo 2");
  assert.equal(await contentOf("sweep@1"), "run: echo 1");
  assert.equal(await contentOf("sweep@3"), undefined);

  for (let step = 3; step <= 60; step += 1)
    await world.ctx.batch(async (tx) => {
      const last = await findRecipe(tx, "sweep");
      if (last) await changeRecipe(tx, { ...last, version: last.version + 1, content: `${step}` });
    });
  assert.deepEqual([await contentOf("sweep@10"), await contentOf("sweep@11")], [undefined, "11"]);
});

test("only its creator and administrators change a recipe, and only these pin one", async (t) => {
  const world = await testWorld(t);
  const [ana, ben] = [await world.as("ana"), await world.as("ben")];
  await ana.run(rows.create, sweep);
  const change = { recipe_name: "sweep", content: "run: echo 2" };
  const refused = { type: "PermissionDeniedError" };

  await assert.rejects(ben.run(rows.update, change), refused);
  await assert.rejects(ana.run(rows.pin, { recipe_name: "sweep", pinned: true }), refused);
  assert.equal(await ben.run(rows.delete, { recipe_name: "sweep" }), false);
  assert.deepEqual(await ben.run(rows.mine, {}), []);

  assert.equal((await world.run(rows.pin, { recipe_name: "sweep", pinned: true }))?.pinned, true);
  const namesOf = async (list: Promise<readonly { name: string }[]>) =>
    (await list).map(({ name }) => name);
  assert.deepEqual(await namesOf(ben.run(rows.mine, {})), ["sweep"]);
  assert.deepEqual(await namesOf(ben.run(rows.list, { my_recipes_only: true })), []);
  assert.deepEqual(await namesOf(ben.run(rows.list, { recipe_type: "pool" })), []);
  assert.equal((await world.run(rows.update, change))?.version, 2);
  assert.equal(await ana.run(rows.delete, { recipe_name: "sweep" }), true);
  assert.equal(await ana.run(rows.delete, { recipe_name: "sweep" }), false);
  assert.equal(await ana.run(rows.get, { recipe_name: "sweep@1" }), null);

  const { entries } = (await world.http("GET", "/audit")).json as {
    entries: { operation: string; subject: string; outcome: string }[];
  };
  const about = entries.filter(({ subject }) => subject === "recipe sweep");
  assert.ok(
    about.some(({ operation, outcome }) => operation === "recipes.update" && outcome === "refused"),
  );
  assert.ok(about.some(({ operation }) => operation === "recipes.delete"));
});

/** Recipes that are refused, and why. */
const refusals: readonly [given: Partial<typeof sweep>, type: string, message: RegExp][] = [
  [{ name: "a_b" }, "InvalidRecipeNameError", /up to 40 letters/],
  [{ name: "a".repeat(41) }, "InvalidRecipeNameError", /up to 40/],
  [{ recipe_type: "notebook" }, "ValueError", /one of cluster, job, service, pool, volume/],
  [{ content: "rum: x" }, "ValueError", /^content: .*did you mean `run`/],
  [{ content: "" }, "ValueError", /must have a `setup` or a `run`/],
  [{ content: "{workdir: ., run: x}" }, "ValueError", /local files/],
  [{ content: "{file_mounts: {/a: ./b}, run: x}" }, "ValueError", /local files/],
  [{ content: "{secrets: {KEY: abc}, run: x}" }, "ValueError", /leave secrets\.KEY empty/],
  [{ recipe_type: "pool" }, "ValueError", /needs a `pool` section/],
  [{ recipe_type: "service" }, "ValueError", /needs a `service` section/],
  [{ recipe_type: "volume" }, "ValueError", /content: Invalid volumes config: name: /],
  [{ recipe_type: "cluster", content: "run: x\n---\nrun: y" }, "ValueError", /must be one task/],
];

test("what others could not use is refused as a recipe", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.create, sweep);

  for (const [given, type, message] of refusals)
    await assert.rejects(world.run(rows.create, { ...sweep, ...given }), { type, message });
  const taken = { type: "RecipeAlreadyExistsError" };
  await assert.rejects(world.run(rows.create, sweep), taken);
  const unknown = { recipe_name: "other", content: "run: x" };
  await assert.rejects(world.run(rows.update, unknown), { type: "ValueError" });
  checkContent("volume", "{name: data, type: folder, infra: local}");
  checkContent("job", "{secrets: {KEY: null}, envs: {STEPS: }, run: x}");
});

test("the recipes that come with control are pinned, kept up to date, and nobody's to change", async (t) => {
  const world = await testWorld(t);
  const own = await world.run(rows.create, { ...sweep, name: "batch" });
  await ensureShippedRecipes(world.ctx);
  await ensureShippedRecipes(world.ctx);

  const found = await world.run(rows.list, { pinned_only: true });
  const names = shippedRecipes().map(({ name }) => name);
  assert.deepEqual(
    found.map(({ name }) => name),
    names.filter((name) => name !== "batch"),
  );
  assert.ok(found.every(({ version, is_editable: can }) => version === 1 && !can));
  assert.deepEqual(await world.run(rows.get, { recipe_name: "batch" }), own);
  const shipped = { recipe_name: "hello", content: "run: x" };
  await assert.rejects(world.run(rows.update, shipped), {
    message: /comes with the control plane/,
  });
  await assert.rejects(world.run(rows.delete, { recipe_name: "hello" }), { type: "ValueError" });

  await world.run(rows.pin, { recipe_name: "hello", pinned: false });
  await world.ctx.batch(async (tx) => {
    const hello = await findRecipe(tx, "hello");
    if (hello) await changeRecipe(tx, { ...hello, version: 2, content: "run: an earlier one" });
  });
  await ensureShippedRecipes(world.ctx);
  const hello = await world.run(rows.get, { recipe_name: "hello" });
  assert.deepEqual([hello?.version, hello?.pinned], [3, false]);
});

test("every recipe that comes with control is one of its type, described, and has a machine", async (t) => {
  const world = await testWorld(t);
  for (const { name, type, description, content } of shippedRecipes()) {
    assert.doesNotThrow(() => checkContent(type, content), name);
    assert.match(description ?? "", /^[A-Z].{20,110}[.]$/, name);
    if (type === "volume") continue;
    const dag = content.replace(/^( {2}(API_KEY|CHECKPOINTS)):.*$/m, "$1: k");
    const id = await world.call(taskOperations.optimize, { dag, request_options: null });
    await world.get(taskOperations.optimize, id);
    assert.match(await world.printed(id), / chosen$/m, name);
  }
});
