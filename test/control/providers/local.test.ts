import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pino } from "pino";
import { readConfig } from "../../../control/config.ts";
import { localProvider } from "../../../control/providers/local.ts";
import { until } from "../../helpers/agent.ts";
import { aCluster } from "../../helpers/clusters.ts";

/** This machine as a cloud, its nodes in a home of their own. */
function aProvider(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), "local-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const logged: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void logged.push(line) });
  return { home, logged, provider: localProvider(readConfig({ OUTRIGGER_HOME: home }), log) };
}

test("an agent that cannot be started is logged, and control goes on", async (t) => {
  const { provider, logged } = aProvider(t);
  const { execPath } = process;
  t.after(() => {
    process.execPath = execPath;
  });
  process.execPath = "/nowhere/node";

  await provider.create(aCluster(), 0, t.signal);

  const [line] = await until(() => {
    const lines = logged.filter((one) => one.includes("agent not started"));
    return lines.length > 0 ? lines : undefined;
  });
  assert.match(line ?? "", /ENOENT/);
});

test("whatever this machine refuses is an error of the cloud", async (t) => {
  const { provider, home } = aProvider(t);
  writeFileSync(join(home, "nodes"), "not a folder");

  const error = { name: "CloudError", message: /^this machine cannot do that now: E\w+: / };
  await assert.rejects(provider.create(aCluster(), 0, t.signal), error);
  await assert.rejects(provider.list(aCluster(), t.signal), error);
});
