import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { writeContexts } from "../../client/contexts.ts";
import { type Env, readSettings } from "../../client/settings.ts";
import { writeSshConfig } from "../../client/ssh-config.ts";
import type { World } from "../../client/world.ts";
import type { ClusterStatusRecord } from "../../contract/records/clusters.ts";

/** The way to a node that `ssh` is given, in this environment. */
function wayIn(t: TestContext, env: Env): string {
  const home = mkdtempSync(join(tmpdir(), "outrigger-ssh-config-"));
  t.after(() => rmSync(home, { recursive: true }));
  writeContexts({ home }, { contexts: { prod: { endpoint: "https://control.example" } } });
  const settings = readSettings({ ...env, OUTRIGGER_HOME: home });
  const credentials = { ssh_user: "u", ssh_private_key_content: "k", ssh_host_key: "h" };
  const record = { name: "dev", nodes: 1, credentials } as ClusterStatusRecord;
  const world = { env: { HOME: home }, settings, program: ["outrigger"] } as unknown as World;
  writeSshConfig(world, [record]);
  const entry = readFileSync(join(home, "ssh/clusters/dev"), "utf8");
  return (/ProxyCommand (.*)/.exec(entry)?.[1] ?? "").replaceAll("'", "").replace(home, "HOME");
}

test("SSH goes to the control plane that the cluster was seen at", (t) => {
  const rest = "OUTRIGGER_HOME=HOME outrigger shell dev --node 0 --stdio";
  const unset = "env -u OUTRIGGER_ENDPOINT -u SKYPILOT_ENDPOINT";
  const endpoint = "http://127.0.0.1:7000";

  assert.equal(wayIn(t, {}), `${unset} OUTRIGGER_CONTEXT=default ${rest}`);
  assert.equal(wayIn(t, { OUTRIGGER_PORT: "7000" }), `${unset} OUTRIGGER_CONTEXT=default ${rest}`);
  assert.equal(wayIn(t, { OUTRIGGER_CONTEXT: "prod" }), `${unset} OUTRIGGER_CONTEXT=prod ${rest}`);
  assert.equal(
    wayIn(t, { OUTRIGGER_ENDPOINT: endpoint, OUTRIGGER_CONTEXT: "prod" }),
    `env OUTRIGGER_ENDPOINT=${endpoint} ${rest}`,
  );
});
