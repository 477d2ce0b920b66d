import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { agentClient, until } from "../helpers/agent.ts";
import { kill, processesOf, startControl } from "../helpers/programs.ts";
import { hookedCluster, withHooks } from "./hooked.ts";

test("a worker that is taken away saves what it can", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = hookedCluster(control, "demo");
  const does = "echo saving rank $OUTRIGGER_NODE_RANK of $OUTRIGGER_NUM_NODES; sleep 3600";
  const hooks = [cluster.hook("save", { does }), cluster.hook("late")];
  await cluster.launch(withHooks(hooks, { num_nodes: 2 }));
  const node = await cluster.nodeHome(1);
  const worker = agentClient(t, join(node, ".outrigger/agent/agent.sock"));
  const lifecycle = async () => {
    const [found] = await control.client.callAndGet(rows.status, { cluster_names: ["demo"] });
    return found?.lifecycle ?? undefined;
  };
  const log = `(rank 1) saving rank 1 of 2
(rank 1) [outrigger] hook 1 of 2 (preemption) timed out after … s (code 124): the time until the node goes was over
(rank 1) [outrigger] hook 2 of 2 (preemption) was skipped: no time is left until the node goes
`;
  /** What bash says of a killed program is no word of ours. */
  const withoutTimes = (text: string) =>
    text.replace(/\d+(\.\d)? s\b/g, "… s").replaceAll("(rank 1) Terminated\n", "");

  await t.test("its hooks are cut at the deadline, and are read meanwhile", async () => {
    // A quarter of it is kept, for whatever holds the node up.
    const deadlineAt = Date.now() + 12_000;
    const { id } = await worker.call("preempt", { because: "spot", deadlineAt });
    const seen = await until(lifecycle);
    const followed = control.cli("logs", "--hook", "demo");
    assert.deepEqual([seen.action, seen.node, seen.because], ["preemption", 1, "spot"]);
    const told = "node 1 got a preemption notice (spot) in … s";
    assert.ok((await cluster.events()).map(withoutTimes).includes(told));
    const { stdout } = await followed;
    await until(async () => (await lifecycle())?.phase === "READY" || undefined);

    const { runs } = await worker.call("getLifecycle", { id });
    assert.ok(runs.every(({ endedAt }) => endedAt !== null && endedAt < deadlineAt));
    assert.deepEqual(cluster.ran(), ["save preemption"]);
    assert.equal(withoutTimes(stdout), log);
    const events = (await cluster.events()).map(withoutTimes);
    const cut = "was ended after … s, as it had … s (code 124)";
    const line = `node 1 says: hook 1 of 2 (preemption) ${cut}; it printed last:\n  saving rank 1 of 2`;
    assert.ok(
      events.some((event) => event.startsWith(line)),
      events.join("\n"),
    );
  });

  await t.test("the log is there once the node and its cluster are gone", async () => {
    const onNode = readFileSync(join(node, ".outrigger/hooks/preemption.log"), "utf8");
    const processes = processesOf(`HOME=${node}\0`);
    // First its folder, as an agent that is missed is started again.
    renameSync(node, join(control.home, "gone"));
    for (const { pid } of processes) kill(pid);
    await until(async () => (await lifecycle()) === undefined || undefined);
    await cluster.untilStatus("UP");
    const copied = (await cluster.hookLog()).text;
    assert.equal(copied.replaceAll("(rank 1) ", ""), onNode);

    await control.cli("down", "-y", "demo", "--skip-hooks");
    const gone = await control.cli("logs", "--hook", "preemption", "demo");
    assert.equal(gone.stdout, copied);
    assert.equal(gone.code, 0);
  });
});

test("a preemption that is tried runs the hooks, then the node is gone", {
  timeout: 300_000,
}, async (t) => {
  const control = await startControl(t);
  const cluster = hookedCluster(control, "demo");
  await cluster.launch(withHooks([cluster.hook("save", { does: "echo saving" })]));
  const node = await cluster.nodeHome();
  const before = join(node, "before");
  writeFileSync(before, "");

  const { code, stderr } = await control.cli("preempt", "demo", "--notice", "4s");

  assert.equal(code, 0, stderr);
  assert.deepEqual(cluster.ran(), ["save preemption"]);
  assert.match((await cluster.hookLog("preemption")).text, /^saving\n/);
  await cluster.untilStatus("UP");
  assert.ok(!existsSync(before), "its disk is a new one");
  const told = (await cluster.events()).filter((line) => /taken away: /.test(line));
  assert.equal(told.length, 1);
});
