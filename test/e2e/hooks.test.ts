import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import { startControl } from "../helpers/programs.ts";
import { hookedCluster } from "./hooked.ts";

/** A script that shows itself, and much that a careless way to the node would change. */
const odd = String.raw`cat "$0"
# 'single' "double" \back\\slash $(exit 9) %s %d	tab ${"`"}false${"`"} {{ braces }} # : - [
cat <<EOF
EOF
true <<'END'
EOF
"""
END
: 'größer ✓ 日本語 🚀' \
  "over two lines, and a blank at the end "

exit 0
`;

test("a stop and a teardown run their hooks", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = hookedCluster(control, "demo");
  const { hook } = cluster;
  const hooks = [
    { run: odd, events: ["stop"] },
    hook("always", { does: "echo said; echo warned >&2" }),
    hook("fails", { events: ["stop"], does: "exit 3" }),
    hook("hangs", { events: ["down", "stop"], does: "sleep 1000", timeout: 1 }),
    hook("leaves", { events: ["down"], does: "echo $OUTRIGGER_HOOK_EVENT $SKYPILOT_HOOK_EVENT" }),
    hook("last", { events: ["stop"], does: cluster.gated }),
  ];
  const document = join(control.home, "task.yaml");
  writeFileSync(document, stringify({ run: "sleep 1000", config: { hooks } }));
  const launched = await control.cli("launch", "-y", "-d", "-c", "demo", document);
  assert.equal(launched.code, 0, launched.stderr);
  let stopLog = "";

  await t.test("a stop that is asked for twice runs them once, in their order", async () => {
    const stops = [control.cli("stop", "-y", "demo"), control.cli("stop", "-y", "demo")];
    await cluster.untilRan("last stop");
    const whileRunning = control.cli("logs", "--hook", "demo");
    const soFar = await control.cli("logs", "--hook", "stop", "demo", "--no-follow");
    const [node, status] = await Promise.all([cluster.nodeHome(), cluster.status()]);
    cluster.open();
    for (const { code, stderr } of await Promise.all(stops)) assert.equal(code, 0, stderr);

    assert.deepEqual(cluster.ran(), ["always stop", "fails stop", "hangs stop", "last stop"]);
    assert.equal(status, "UP");
    assert.equal(await cluster.status(), "STOPPED");
    ({ stdout: stopLog } = await whileRunning);
    assert.equal(soFar.stdout, stopLog);
    assert.equal(readFileSync(join(node, ".outrigger/hooks/stop.log"), "utf8"), stopLog);
  });

  await t.test("a script is what was written, and failures are told everywhere", async () => {
    const [said, warnings] = [stopLog.slice(0, odd.length), stopLog.slice(odd.length)];
    assert.equal(said, odd);
    assert.match(
      warnings,
      /^said\nwarned\n\[outrigger\] hook 3 of 6 \(stop\) failed after \S+ s: it exited with 3\n(Terminated\n)*\[outrigger\] hook 4 of 6 \(stop\) timed out after [\d.]+ s \(code 124\): it took longer than its 1 s\n$/,
    );
    const events = (await cluster.events()).filter((line) => line.startsWith("hook "));
    const fates = events.map((line) =>
      line.replace(/[\d.]+ s/, "… s").replace(/; it printed last:.*$/s, ""),
    );
    assert.deepEqual(fates, [
      "hook 1 of 6 (stop) succeeded after … s",
      "hook 2 of 6 (stop) succeeded after … s",
      "hook 3 of 6 (stop) exited with 3 after … s; the stop continues",
      "hook 4 of 6 (stop) was ended after … s, as it had 1 s (code 124); the stop continues",
      "hook 6 of 6 (stop) succeeded after … s",
    ]);
    const agentLog = join(await cluster.nodeHome(), ".outrigger/agent/agent.log");
    const logged = readFileSync(agentLog, "utf8").trim().split("\n");
    const warned = logged.map((line) => JSON.parse(line)).filter(({ level }) => level === 40);
    const pairs = warned.map(({ msg, exitCode }) => [msg, exitCode]);
    assert.deepEqual(pairs, [
      ["hook failed", 3],
      ["hook timed out", 124],
    ]);
  });

  await t.test("another event runs them anew; each log outlives the cluster", async () => {
    await cluster.start();
    const request = await cluster.begin("down");
    const followed = cluster.hookLog();
    await control.client.get(request);
    await cluster.untilStatus(undefined);

    assert.deepEqual(cluster.ran(), ["always down", "hangs down", "leaves down"]);
    const { code, text } = await followed;
    assert.match(text, /^said\nwarned\n(Terminated\n)*\[outrigger\] hook 4 of .*\ndown down\n$/);
    assert.equal(code, 0);
    const newest = await cluster.hookLog();
    assert.equal(newest.text, text);
    const earlier = await control.cli("logs", "--hook", "stop", "demo");
    assert.equal(earlier.stdout, stopLog);
    const never = await control.cli("logs", "--hook", "preemption", "demo");
    assert.match(never.stderr, /demo has run no preemption hook; it has logs of: stop, down/);
    assert.notEqual(never.code, 0);
  });
});
