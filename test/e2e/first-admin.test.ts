import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const launcher = join(import.meta.dirname, "../../bin/outrigger");

test("an operator starts control for a team, gives the first administrator a password, and a program a token", async (t) => {
  const home = await mkdtemp(join(tmpdir(), "outrigger-team-"));
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...{ OUTRIGGER_HOME: home, OUTRIGGER_LOGIN: "password", FORCE_COLOR: "0" },
  };
  const outrigger = (line: string, { input = "", more = {} } = {}) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const options = { env: { ...env, ...more } };
      const child = execFile(launcher, line.split(" "), options, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
      );
      child.stdin?.end(input);
    });
  t.after(async () => {
    await outrigger("api stop");
    await rm(home, { recursive: true, force: true });
  });
  const start = async () => {
    const started = await outrigger("api start --port 0 --first-admin ana");
    env["OUTRIGGER_ENDPOINT"] = started.stdout.trim();
    return started;
  };

  const started = await start();
  const again = await outrigger("api start --first-admin ana");
  const set = await outrigger("users update ana --password-stdin", { input: "correct horse\n" });
  const users = JSON.parse((await outrigger("users list -o json")).stdout);
  const made = JSON.parse((await outrigger("tokens create ci --role viewer -o json")).stdout);
  const more = { OUTRIGGER_TOKEN: made.token };
  const allowed = await outrigger("users list", { more });
  const refused = await outrigger("users delete -y ana", { more });
  await outrigger("tokens delete -y ci");
  const gone = await outrigger("users list", { more });
  await outrigger("api stop");
  const restarted = await start();

  assert.equal(started.code, 0, started.stderr);
  const missing = /^ana has no password yet: outrigger users update ana --password$/m;
  assert.match(started.stderr, missing);
  assert.equal(again.code, 5, again.stderr);
  assert.equal(set.code, 0, set.stderr);
  assert.partialDeepStrictEqual(users, [{ name: "ana", role: "admin", has_password: true }]);
  assert.equal(users.length, 1);
  assert.deepEqual([allowed.code, refused.code, gone.code], [0, 4, 4]);
  assert.match(refused.stderr, /users\.delete needs the role admin; sa:ci has the role viewer/);
  assert.match(gone.stderr, /unknown token/);
  assert.doesNotMatch(restarted.stderr, missing);
});
