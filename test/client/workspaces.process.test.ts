import assert from "node:assert/strict";
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";
import { two, usual } from "./usual-routes.ts";

const sending =
  (value: unknown): Handler =>
  (_seen, res) =>
    sendJson(res, 200, value);

const research = { private: true, allowed_users: ["ana"], limits: { clusters: 4 } };
const spent =
  "workspace research has spent $5.00 of $5.00 today (dollars_per_day, UTC); nothing new";
const useOf = (workspace: string, more: object = {}) => ({
  ...{ workspace, limits: {}, spent: null },
  use: { clusters: 2, accelerators: 8, dollars_per_day: 5, dollars_per_month: 12.5 },
  ...more,
});

const routes = {
  ...usual,
  "GET /workspaces": { result: { default: {}, research } },
  "GET /workspaces/use": sending([
    useOf("default"),
    useOf("research", { limits: { clusters: 4, dollars_per_day: 5 }, spent }),
  ]),
  "GET /users/me/workspace": sending({ workspace: "research", source: "preferred" }),
  "POST /users/me/workspace": sending({ preferred: "research" }),
  "POST /workspaces/create": { result: {} },
  "POST /workspaces/update": { result: {} },
  "POST /workspaces/delete": { result: {} },
  "GET /workspaces/config": {
    result: { version: 3, workspaces: { default: {} }, docker: { password: "[secret]" } },
  },
  "POST /workspaces/config": { result: { version: 4 } },
  "GET /workspaces/config/history": sending([
    { version: 3, user_id: "u", user_name: "root", created_at: 1_700_000_000 },
  ]),
};

test("workspaces list shows what each uses of what it may, and which one launches go to", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout, stderr } = await outrigger(["workspaces", "list"], { columns: 120 });

  assert.match(stdout, /^default +everyone +2 +8 +\$5\.00 +\$12\.50/m);
  assert.match(stdout, /^research +yes +ana +2\/4 +8 +\$5\.00\/\$5\.00 +\$12\.50/m);
  assert.match(stderr, /has spent \$5\.00/);
  const { stdout: json } = await outrigger(["workspaces", "list", "-o", "json"]);
  const [, { name, current, limits }] = JSON.parse(json);
  assert.deepEqual([name, current, limits.clusters], ["research", true, 4]);
});

test("a workspace is created and changed by options, or as a file says", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);
  await writeFile(join(outrigger.folder, "w.yaml"), "allowed_infra: [local]\n");
  const sent = (route: string) => control.to(`POST /workspaces/${route}`).at(-1)?.body["config"];

  await outrigger("workspaces create lab --private --add-user ana --limit clusters=2".split(" "));
  assert.deepEqual(sent("create"), {
    ...{ private: true, allowed_users: ["ana"], limits: { clusters: 2 } },
  });
  await outrigger(["workspaces", "create", "lab", "-f", "w.yaml", "--limit", "idle_minutes=30"]);
  assert.deepEqual(sent("create"), { allowed_infra: ["local"], limits: { idle_minutes: 30 } });
  const words =
    "workspaces update research --public --add-user bob --remove-user ana --limit clusters=";
  const { stdout } = await outrigger([...words.split(" "), "-o", "json"]);
  assert.deepEqual(sent("update"), { private: false, allowed_users: ["bob"], limits: {} });
  const [{ action, name, outcome }] = JSON.parse(stdout);
  assert.deepEqual([action, name, outcome], ["workspaces update", "research", "done"]);
});

const wrong: readonly [words: string, says: RegExp][] = [
  ["workspaces update research", /say what to change/],
  ["workspaces create lab --limit cluster=2", /there is no limit cluster; did you mean `clusters`/],
  ["workspaces create lab --limit clusters", /write clusters=NUMBER/],
  ["workspaces create lab --limit clusters=many", /write clusters=NUMBER/],
  ["workspaces use", /name a workspace/],
  ["workspaces use lab --clear", /name a workspace/],
  ["api config shw", /did you mean `show`/],
  ["api config set", /-f FILE/],
  ["api config edit", /there is no terminal/],
];

for (const [words, says] of wrong)
  test(`\`${words}\` is refused: ${says.source}`, async (t) => {
    const outrigger = await commandLine(t, (await fakeControl(t, routes)).endpoint);

    const { code, stderr } = await outrigger(words.split(" "));

    assert.equal(code, 2);
    assert.match(stderr, says);
  });

test("workspaces use keeps the choice at control, and says what wins over it here", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(["workspaces", "use", "research"]);
  assert.equal(stderr, "Your launches go to workspace research now.\n");
  const { stderr: more } = await outrigger(["workspaces", "use", "--clear"], {
    env: { OUTRIGGER_WORKSPACE: "lab" },
  });
  assert.match(more, /But here they go to lab/);

  const chosen = control.to("POST /users/me/workspace").map(({ body }) => body["preferred"]);
  assert.deepEqual(chosen, ["research", null]);
});

test("workspaces delete sends each name", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(["workspaces", "delete", "a", "b"]);

  assert.equal(stderr, "Workspace a is deleted.\nWorkspace b is deleted.\n");
  const names = control.to("POST /workspaces/delete").map(({ body }) => body["workspace_name"]);
  assert.deepEqual(names, ["a", "b"]);
});

test("the configuration is shown as YAML, and set from a file", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);
  const { stdout } = await outrigger(["api", "config"]);
  await writeFile(join(outrigger.folder, "c.yaml"), stdout);

  const { stderr } = await outrigger(["api", "config", "set", "-f", "c.yaml"]);

  assert.equal(stderr, "The configuration is at version 4 now.\n");
  const [sent] = control.to("POST /workspaces/config");
  assert.deepEqual(sent?.body["config"], parse(stdout));
  assert.match((await outrigger(["api", "config", "history"])).stdout, /^ +3 +root +2023-11-14T/m);
});

/** The file in which an edit stays. */
const keptIn = (stderr: string): string => /What you wrote is in (\S+)\./.exec(stderr)?.[1] ?? "";

/** An editor that runs a script on what it is given. */
async function anEditor(folder: string, script: string): Promise<string> {
  const file = join(folder, "editor");
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o700);
  return file;
}

test("api config edit sends what the editor made of it, and nothing where that is nothing new", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);
  const edit = async (script: string) =>
    outrigger(["api", "config", "edit"], {
      env: { EDITOR: await anEditor(outrigger.folder, script) },
      typed: "",
    });

  assert.match((await edit("true")).stderr, /Nothing was changed/);
  const { stderr: failed } = await edit("exit 3");
  assert.match(failed, /nothing was changed. EDITOR/);
  await rm(dirname(keptIn(failed)), { recursive: true });
  assert.equal(control.to("POST /workspaces/config").length, 0);
  const { code } = await edit('echo "limits: {clusters: 1}" >> "$1"');

  assert.equal(code, 0);
  const config = control.to("POST /workspaces/config")[0]?.body["config"] as { version: number };
  assert.deepEqual(config, {
    ...{ version: 3, workspaces: { default: {} }, docker: { password: "[secret]" } },
    limits: { clusters: 1 },
  });
});

test("what control refuses of an edit stays in its file", async (t) => {
  const control = await fakeControl(t, {
    ...routes,
    "POST /workspaces/config": { error: { type: "ValueError", message: "limits: no" } },
  });
  const outrigger = await commandLine(t, control.endpoint);
  const EDITOR = await anEditor(outrigger.folder, 'echo "limits: 1" >> "$1"');

  const { code, stderr } = await outrigger(["api", "config", "edit"], {
    env: { EDITOR },
    typed: "",
  });

  assert.equal(code, 2);
  const file = keptIn(stderr);
  assert.match(await readFile(file, "utf8"), /limits: 1\n$/);
  await rm(dirname(file), { recursive: true });
});

test("--workspace says where a launch goes, before the variable and the context", async (t) => {
  const control = await fakeControl(t, routes);
  const outrigger = await commandLine(t, control.endpoint);

  await outrigger(["launch", "-y", "-d", "-c", "dev", "--workspace", "lab", "true"], {
    env: { OUTRIGGER_WORKSPACE: "other" },
  });

  const [sent] = control.to("POST /launch");
  assert.deepEqual(sent?.body["override_outrigger_config"], { active_workspace: "lab" });
});

test("status has a column for workspaces where there are several, and notes what is spent", async (t) => {
  const rows = (two.result as object[]).map((row, at) => ({ ...row, workspace: `w${at}` }));
  const control = await fakeControl(t, { ...routes, "POST /status": { result: rows } });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout, stderr } = await outrigger(["status"], { columns: 120 });
  assert.match(stdout, /WORKSPACE/);
  assert.match(stderr, /has spent/);

  const alone = await commandLine(t, (await fakeControl(t, usual)).endpoint);
  assert.doesNotMatch((await alone(["status"], { columns: 120 })).stdout, /WORKSPACE/);
});
