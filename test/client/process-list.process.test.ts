import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { mainOf } from "../helpers/tested.ts";
import { fakeControl } from "./fake-control.ts";

test("while a command waits, the list of processes holds no secret that it was given", async (t) => {
  const asked = Promise.withResolvers<void>();
  const control = await fakeControl(t, { "POST /launch": () => asked.resolve() });
  const words = ["launch", "-y", "-c", "dev", "--secret", "PW=s3cret", "--secret=KEY=s3cret", "x"];
  const client = spawn(process.execPath, [mainOf("outrigger"), ...words], {
    env: { ...process.env, OUTRIGGER_ENDPOINT: control.endpoint },
    stdio: "ignore",
  });
  t.after(() => client.kill("SIGKILL") && once(client, "exit"));

  await asked.promise;
  const told = readFileSync(`/proc/${client.pid}/cmdline`, "utf8");

  assert.match(told, /^outrigger launch -y -c dev --secret 'PW=<redacted>'/);
  assert.doesNotMatch(told, /s3cret/);
});
