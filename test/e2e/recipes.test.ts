import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";
import { serviceOf } from "./service.ts";

test("the recipes that come with control run on this machine", { timeout: 300_000 }, async (t) => {
  const key = "recipe-key";
  const control = await startControl(t);
  const { cli } = control;
  const checkpoints = join(control.home, "checkpoints");

  await t.test("hello, on a cluster", async () => {
    const { code, stdout, stderr } = await cli("launch", "-y", "-c", "dev", "recipes:hello");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Hello from rank 0 of 1 on Linux/);
    assert.match(stderr, /Candidates for any machine:\n +INFRA[^\n]*\n +local +local .* chosen/);
    assert.equal((await cli("down", "-y", "dev")).code, 0);
  });

  await t.test("fine-tuning, which continues from its checkpoint", async () => {
    const train = (steps: number) =>
      cli(
        ...["jobs", "launch", "-y", "--env", `STEPS=${steps}`],
        ...["--env", `CHECKPOINTS=${checkpoints}`, "recipes:fine-tuning"],
      );
    const first = await train(20);
    assert.match(first.stdout, /continues at step 0 of 20\nstep 20: loss .*\ny = /, first.stderr);
    const second = await train(40);
    assert.match(second.stdout, /continues at step 20 of 40\n/, second.stderr);
    rmSync(checkpoints, { recursive: true });
  });

  await t.test("a batch on a pool", async () => {
    const pool = "batch-workers";
    const applied = await cli("jobs", "pool", "apply", "-y", "-p", pool, `recipes:${pool}`);
    assert.equal(applied.code, 0, applied.stderr);
    const { code, stdout, stderr } = await cli("jobs", "launch", "-y", "-p", pool, "recipes:batch");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /shard 0 has \d+ letters/);
    assert.equal((await cli("jobs", "pool", "down", "-y", pool)).code, 0);
  });

  await t.test("a model server, which asks for its key, and a web service", async () => {
    const up = ["serve", "up", "-y"];
    const made = await cli(...up, "--secret", `API_KEY=${key}`, "recipes:model-server");
    assert.equal(made.code, 0, made.stderr);
    const model = serviceOf(control, "model-server");
    await model.untilReady(1);
    const { stdout } = await cli("serve", "status", "model-server", "--endpoint");
    const url = `${stdout.trim()}/v1/completions`;
    const ask = (headers: Record<string, string>) =>
      fetch(url, { method: "POST", headers, body: '{"prompt": "the"}' });
    assert.equal((await ask({})).status, 401);
    const answer = await ask({ authorization: `Bearer ${key}` });
    assert.match(await answer.text(), /^\{"choices": \[\{"text": "\w+( \w+){15}"\}\]\}\n$/);
    await model.down();

    assert.equal((await cli(...up, "recipes:web-service")).code, 0);
    const web = serviceOf(control, "web-service");
    await web.untilReady(2);
    await web.down();
  });
});
