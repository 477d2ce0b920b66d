import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { secretOperations as secrets } from "../../contract/operations/secrets.ts";
import { until } from "../helpers/agent.ts";
import { findLeaks as leaksOf } from "../helpers/leaks.ts";
import { listNodeHomes, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("the value of a secret is nowhere but with its job", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t, { env: { LOG_LEVEL: "debug" } });
  const { client, home } = control;
  const cluster = clusterOf(control, "demo");
  // In two pieces, so that this file itself is no hit.
  const value = ["correct horse", "battery staple"].join(" & ");
  const at = (name: string) => join(home, name);
  const run = `
    printf %s "$TOKEN" | sha256sum > ${at("sum-")}$OUTRIGGER_NODE_RANK
    touch ${at("runs-")}$OUTRIGGER_NODE_RANK; sleep 987`;
  const task = aTask(run, { num_nodes: 2, secrets: { TOKEN: value } });

  /** Where the value can be read: files under the home, and command lines. */
  const findLeaks = () => leaksOf(value, home);

  await t.test("while its launch, exec and jobs are under way, and afterwards", async () => {
    const id = await cluster.launch(task);
    await until(() => (existsSync(at("runs-0")) && existsSync(at("runs-1"))) || undefined);
    const [head, worker] = ["sum-0", "sum-1"].map((name) => readFileSync(at(name), "utf8"));
    assert.equal(head, worker);
    assert.notEqual(head, EMPTY_SUM);
    assert.deepEqual(findLeaks(), []);
    const stored = await client.call(rows.exec, { cluster_name: "demo", task });
    await control.end("SIGKILL");
    assert.deepEqual(findLeaks(), []);
    await control.start();
    await client.get(stored);
    await cluster.cancel(id);
    assert.deepEqual(findLeaks(), []);
  });

  await t.test("in what clients are shown", async () => {
    const [status, events, requests, queue] = await Promise.all([
      client.callAndGet(rows.status, {}),
      client.callAndGet(rows.costReport, {}),
      client.read("/api/status", { all_status: true }),
      cluster.queue(),
    ]);
    const shown = JSON.stringify([status, events, requests, queue]);
    assert.match(shown, /TOKEN/);
    assert.ok(!shown.includes(value));
  });

  await t.test("when it comes from the command line's environment or file", async () => {
    writeFileSync(
      at("task.yaml"),
      aTask('printf %s "$TOKEN" | wc -c', { secrets: { TOKEN: null } }),
    );
    const fromFile = at("secrets.env");
    writeFileSync(fromFile, `TOKEN="${value}"\n`);
    const words = ["exec", "demo", "--secret-file", "secrets.env", "task.yaml"];
    const { stdout, stderr } = await control.cli(...words);
    assert.equal(stdout, `${value.length}\n`, stderr);
    assert.deepEqual(findLeaks(), [fromFile]);
  });

  await t.test(
    "or in the file that a stored one becomes, which goes with the cluster",
    async () => {
      await client.call(secrets.set, { name: "KEY", value });
      const managed_secrets = [{ KEY: { mount_path: "~/.key" } }];
      const { text } = await cluster.follow(
        await cluster.launch(aTask("stat -c %a ~/.key", { num_nodes: 2, managed_secrets })),
      );
      assert.match(text, /600\n.*600\n$/s);
      const files = listNodeHomes(home).map((node) => join(node, ".key"));
      assert.deepEqual(findLeaks().toSorted(), [at("secrets.env"), ...files].toSorted());
      await cluster.down();
      assert.deepEqual(findLeaks(), [at("secrets.env")]);
    },
  );
});

const EMPTY_SUM = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  -\n";
