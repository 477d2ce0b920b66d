import assert from "node:assert/strict";
import { test } from "node:test";
import { recipe } from "./answered-records.ts";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl } from "./fake-control.ts";
import { usual } from "./usual-routes.ts";

test("a recipe stands where a file does, also in an earlier version", async (t) => {
  const routes = {
    ...usual,
    "POST /status": { result: [] },
    "POST /recipes/get": { result: recipe },
  };
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  const { code } = await outrigger(wordsOf("launch -y -d -c dev --env A=1 recipes:sweep@1"));

  assert.equal(code, 0);
  assert.equal(control.to("POST /recipes/get")[0]?.body["recipe_name"], "sweep@1");
  const task = String(control.to("POST /launch")[0]?.body["task"]);
  assert.match(task, /run: x/);
  assert.match(task, /A: "?1/);
});

test("a recipe that there is not is an error with a suggestion, and a command may contain the word", async (t) => {
  const control = await fakeControl(t, {
    ...usual,
    "POST /recipes/get": { result: null },
    "POST /recipes/list": { result: [recipe] },
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(wordsOf("exec dev recipes:none"));
  assert.equal(code, 3);
  assert.match(stderr, /there is no recipe none; list them with: outrigger recipes list/);
  const close = await outrigger(wordsOf("exec dev recipes:swep"));
  assert.match(close.stderr, /there is no recipe swep; did you mean `sweep`\?/);
  assert.equal((await outrigger(wordsOf("exec -d dev echo recipes:none"))).code, 0);
});

test("only the recipes that are named are deleted", async (t) => {
  const control = await fakeControl(t, {
    "POST /recipes/list": { result: [recipe, { ...recipe, name: "other" }] },
    "POST /recipes/delete": { result: true },
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code } = await outrigger(wordsOf("recipes delete -y sweep"));

  assert.equal(code, 0);
  const deleted = control.to("POST /recipes/delete");
  assert.deepEqual(
    deleted.map(({ body }) => body["recipe_name"]),
    ["sweep"],
  );
});

test("recipes are shown, deleted one by one, and those of others are refused", async (t) => {
  const routes = {
    "POST /recipes/list": { result: [recipe] },
    "POST /recipes/get": { result: recipe },
    "POST /recipes/delete": { result: false },
  };
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  assert.match((await outrigger(wordsOf("recipes list"))).stdout, /^sweep +job +2 +- +ana /m);
  assert.equal((await outrigger(wordsOf("recipes show sweep"))).stdout, "run: x\n");
  const others = await outrigger(wordsOf("recipes delete -y sweep"));
  assert.match(others.stderr, /recipe sweep is not yours/);
  assert.match((await outrigger(wordsOf("recipes delete -y none"))).stderr, /no recipe none/);
  assert.equal((await outrigger(wordsOf("recipes update sweep"))).code, 2);
});
