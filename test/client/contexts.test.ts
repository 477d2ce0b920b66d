import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findProcess } from "../../common/process-tree.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, sendJson } from "./fake-control.ts";

/** A command line to which no variable names a control plane. */
async function withoutEndpoint(t: TestContext) {
  const outrigger = await commandLine(t, "");
  const show = async (words: readonly string[] = [], env = {}) => {
    const { code, stdout, stderr } = await outrigger(
      ["config", "show", "--origin", "-o", "json", ...words],
      { env },
    );
    assert.equal(code, 0, stderr);
    const rows = JSON.parse(stdout) as { name: string; value: string; origin: object }[];
    return (name: string) => {
      const row = rows.find((one) => one.name === name);
      return [row?.value, ...Object.values(row?.origin ?? {})];
    };
  };
  return { outrigger, show };
}

const endpoint = "https://control.example";

test("contexts are added, chosen, listed and removed in one file of the home", async (t) => {
  const { outrigger, show } = await withoutEndpoint(t);
  const words = ["--token-file", "prod.token", "--workspace", "ml"];

  const added = await outrigger(["context", "add", "prod", "--endpoint", `${endpoint}/`, ...words]);
  const again = await outrigger(["context", "add", "prod", "--endpoint", endpoint]);
  const before = await show();
  const used = await outrigger(["context", "use", "prod"]);
  const during = await show();
  const listed = await outrigger(["context", "list", "-o", "json"]);
  const removed = await outrigger(["context", "remove", "prod"]);
  const after = await show();

  const file = join(outrigger.folder, "config.json");
  const tokenFile = join(outrigger.folder, "prod.token");
  assert.deepEqual([added.code, again.code, used.code, removed.code], [0, 5, 0, 0]);
  assert.match(again.stderr, /context prod exists; remove it first: outrigger context remove prod/);
  assert.deepEqual(before("context"), ["default", "default", null]);
  assert.deepEqual(during("context"), ["prod", "home", file]);
  assert.deepEqual(during("endpoint"), [endpoint, "context", "prod"]);
  assert.deepEqual(during("token_file"), [tokenFile, "context", "prod"]);
  assert.deepEqual(during("workspace"), ["ml", "context", "prod"]);
  assert.deepEqual(JSON.parse(listed.stdout), [
    { name: "default", endpoint: null, token_file: null, workspace: null, current: false },
    { name: "prod", endpoint, token_file: tokenFile, workspace: "ml", current: true },
  ]);
  assert.deepEqual(after("context"), ["default", "default", null]);
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), { contexts: {} });
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("a flag wins over the environment, that over the context, that over the default", async (t) => {
  const { outrigger, show } = await withoutEndpoint(t);
  for (const name of ["one", "two"])
    await outrigger(["context", "add", name, "--endpoint", `https://${name}.example`]);
  const env = { OUTRIGGER_ENDPOINT: "https://env.example", OUTRIGGER_TOKEN: "sky_secret" };

  const byDefault = await show();
  await outrigger(["context", "use", "one"]);
  const byContext = await show();
  const byContextVariable = await show([], { OUTRIGGER_CONTEXT: "two" });
  const byVariable = await show([], env);
  const byFlag = await show(["--context", "two"], env);

  assert.deepEqual(byDefault("endpoint"), ["http://127.0.0.1:46580", "default", null]);
  assert.deepEqual(byContext("endpoint"), ["https://one.example", "context", "one"]);
  assert.deepEqual(byContextVariable("endpoint"), ["https://two.example", "context", "two"]);
  assert.deepEqual(byContextVariable("context"), ["two", "environment", "OUTRIGGER_CONTEXT"]);
  assert.deepEqual(byVariable("endpoint"), [
    "https://env.example",
    "environment",
    "OUTRIGGER_ENDPOINT",
  ]);
  assert.deepEqual(byVariable("token"), ["[secret]", "environment", "OUTRIGGER_TOKEN"]);
  assert.deepEqual(byFlag("endpoint"), ["https://two.example", "context", "two"]);
  assert.deepEqual(byFlag("token"), [null, "default", null], "it is for another address");
});

test("calls carry the token and the workspace of the context, and none of another's", async (t) => {
  const bearers: unknown[] = [];
  const workspaces: unknown[] = [];
  const control = await fakeControl(t, {
    "POST /status": ({ headers, body }, res) => {
      bearers.push(headers["authorization"]);
      const fields = body as { override_outrigger_config?: { active_workspace?: string } };
      workspaces.push(fields.override_outrigger_config?.active_workspace);
      sendJson(res, 403, { detail: "not you" });
    },
  });
  const { outrigger } = await withoutEndpoint(t);
  writeFileSync(join(outrigger.folder, "dev.token"), "sky_dev\n");
  const words = ["--token-file", "dev.token", "--workspace", "ml", "--use"];
  await outrigger(["context", "add", "dev", "--endpoint", control.endpoint, ...words]);

  const inContext = await outrigger(["status"]);
  await outrigger(["status"], { env: { OUTRIGGER_ENDPOINT: control.endpoint } });
  writeFileSync(join(outrigger.folder, "dev.token"), "");
  const empty = await outrigger(["status"]);

  assert.equal(inContext.code, 4, inContext.stderr);
  assert.deepEqual(bearers, ["Bearer sky_dev", undefined]);
  assert.deepEqual(workspaces, ["ml", "ml"]);
  assert.match(empty.stderr, /context dev: its token file .*dev\.token is empty/);
  for (const { stdout, stderr } of [inContext, empty])
    assert.doesNotMatch(stdout + stderr, /sky_dev/);
});

test("what no context can be is refused by name", async (t) => {
  const { outrigger } = await withoutEndpoint(t);
  const failure = async (...words: string[]) => {
    const { code, stderr } = await outrigger(words);
    return `${code} ${stderr}`;
  };
  const add = (...words: string[]) => failure("context", "add", ...words);

  assert.match(await add("default", "--endpoint", endpoint), /^2 .*default is reserved for/);
  assert.match(await add("a b", "--endpoint", endpoint), /^2 .*a b: a context's name/);
  assert.match(await add("x"), /^2 .*--endpoint: name the address/);
  assert.match(await add("x", "--endpoint", "x:1"), /^2 .*--endpoint: x:1 is not an http/);
  const secret = await add("x", "--endpoint", "https://ana:sky_secret@x.example");
  assert.match(secret, /^2 .*do not put credentials into an address/);
  assert.doesNotMatch(secret, /sky_secret/);
  assert.match(
    await failure("context", "use", "x"),
    /^3 .*no context is named x; expected one of default/,
  );
  assert.match(await failure("--context", "x", "status"), /^3 .*--context: no context is named x/);
  writeFileSync(join(outrigger.folder, "config.json"), '{"contexts":{"x":{"endpoint":"ftp://x"}}}');
  assert.match(await failure("status"), /^2 .*config\.json: x: endpoint: ftp:\/\/x is not an http/);
  writeFileSync(join(outrigger.folder, "config.json"), "{");
  assert.match(await failure("status"), /^2 .*config\.json is not JSON/);
});

test("without a context the client follows the control plane of its home", async (t) => {
  const { outrigger, show } = await withoutEndpoint(t);
  const [byPort, anyPort] = [{ OUTRIGGER_PORT: "7001" }, { OUTRIGGER_PORT: "0" }];
  const startTicks = findProcess(process.pid)?.startTicks ?? 0;

  const asSet = await show([], byPort);
  const unset = await show([], anyPort);
  const running = { pid: process.pid, startTicks, host: "127.0.0.1", port: 7002 };
  writeFileSync(join(outrigger.folder, "control.pid"), JSON.stringify(running));
  const followed = await show([], byPort);

  assert.deepEqual(asSet("endpoint"), ["http://127.0.0.1:7001", "environment", "OUTRIGGER_PORT"]);
  assert.equal(unset("endpoint")[0], "http://127.0.0.1:46580");
  assert.deepEqual(followed("endpoint"), ["http://127.0.0.1:7002", "home", outrigger.folder]);
});

test("a variable of ours that no program knows is refused with the nearest name", async (t) => {
  const { outrigger } = await withoutEndpoint(t);
  const known = ["OUTRIGGER_LONG_AT_ONCE", "OUTRIGGER_GRACE_SECONDS", "OUTRIGGER_SIDECAR_LISTEN"];
  const ofJobs = ["OUTRIGGER_NODE_RANK", "OUTRIGGER_HOOK_EVENT", "OUTRIGGER_ASIDE_PATH"];
  const env = Object.fromEntries([...known, ...ofJobs].map((name) => [name, "1"]));
  const show = ["config", "show"];

  const misspelt = await outrigger(show, { env: { OUTRIGGER_ENDPIONT: endpoint } });
  const strange = await outrigger(show, { env: { OUTRIGGER_QQQQQQ: "1" } });
  const allowed = await outrigger(show, { env });
  const completion = await outrigger(["completion", "bash"], { env: { OUTRIGGER_QQQQQQ: "1" } });

  assert.equal(misspelt.code, 2);
  assert.match(
    misspelt.stderr,
    /unknown setting OUTRIGGER_ENDPIONT; did you mean `OUTRIGGER_ENDPOINT`\?/,
  );
  assert.match(strange.stderr, /OUTRIGGER_QQQQQQ; unset it; docs\/settings\.md lists all/);
  assert.deepEqual([allowed.code, completion.code], [0, 0]);
});
