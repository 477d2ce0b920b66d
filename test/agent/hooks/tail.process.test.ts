import assert from "node:assert/strict";
import { test } from "node:test";
import { startAgent } from "../../helpers/agent.ts";
import { aHook, logOnNode, play, putHooks, unspoilt } from "../lifecycles/steps.ts";

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index).join("\n");

test("who learns that a hook failed or took too long learns its last lines too, without secrets", async (t) => {
  const secrets = { TOKEN: "hunter2secret" };
  const list = [
    aHook("echo ok"),
    aHook("seq 30; echo with $TOKEN; echo -n last; exit 3"),
    aHook("exit 1"),
    aHook("echo short; sleep 987", { timeoutSeconds: 1 }),
    aHook("for i in 1 2 3; do printf %9000d 0 | tr ' ' x; printf %s $TOKEN; done; exit 1"),
  ];
  const stop = async () => {
    const agent = await startAgent(t);
    await putHooks(agent, list, { secrets });
    return { agent, tails: (await play(agent, "stop")).runs.map(({ tail }) => tail) };
  };
  const { agent, tails } = await unspoilt(stop, ({ tails: [, , , late] }) => late !== undefined);
  const [ok, failed, silent, late, wide] = tails;

  assert.equal(ok, undefined);
  assert.equal(failed, `${numbers(13, 30)}\nwith *************\nlast`);
  assert.equal(silent, undefined);
  assert.match(late ?? "", /^short(\n.*Terminated.*)*$/);
  assert.match(wide ?? "", /^x+0\*{13}$/);
  assert.ok((wide ?? "").length <= 8 * 1024);
  assert.match(logOnNode(agent, "stop"), /with hunter2secret/);
});

test("a secret is hidden in the last lines wherever they are cut from what came before", async (t) => {
  const agent = await startAgent(t);
  const secrets = { TOKEN: "hunter2secret" };
  // The cut falls on each of its characters and on those around it.
  const hooks = Array.from({ length: 16 }, (_, index) =>
    aHook(`printf %s $TOKEN; printf %${8192 - index}d 0; exit 1`),
  );
  await putHooks(agent, hooks, { secrets });
  const { runs } = await play(agent, "stop");

  for (const { tail } of runs) assert.match(tail ?? "", /^\*{0,13} +0$/);
});
