import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startGitServer, whyNoGitServer } from "../helpers/git-server.ts";
import { findLeaks } from "../helpers/leaks.ts";
import { startControl } from "../helpers/programs.ts";

test("a private repository is the working folder of jobs", { skip: whyNoGitServer }, async (t) => {
  const server = await startGitServer(t);
  const token = ["correct", "horse"].join("-");
  server.login = { username: "x-access-token", password: token };
  server.commit("run.sh", "git log -1 --format=%s; cat version.txt\n");
  server.commit("version.txt", "one\n");
  server.git("tag", "stable");
  server.commit("version.txt", "two\n");
  const control = await startControl(t, {
    env: { SSL_CERT_FILE: server.certificate, LOG_LEVEL: "debug" },
  });
  const launch = (ref: string, ...words: string[]) => {
    const task = { workdir: { url: server.url, ref }, run: "bash run.sh" };
    writeFileSync(join(control.home, "task.yaml"), JSON.stringify(task));
    return control.cli("launch", "-y", "-c", "dev", ...words, "task.yaml");
  };
  const secret = ["--secret", `GIT_TOKEN=${token}`];

  const first = await launch("stable", ...secret);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /^change version.txt\none$/m);
  const main = await launch("main", ...secret);
  assert.match(main.stdout, /^two$/m);
  const again = await launch("main", ...secret);
  assert.match(again.stderr, /^workdir: \d+ files, none changed$/m);
  assert.deepEqual(findLeaks(token, control.home), []);

  const refused = await launch("main");
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /project\.git refuses access; pass the secret GIT_TOKEN/);
});
