import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { withKey } from "../../../control/repositories/ssh-key.ts";
import { until } from "../../helpers/agent.ts";
import { whyNoGitServer } from "../../helpers/git-server.ts";

const skip = whyNoGitServer;
const env = { PATH: process.env["PATH"] ?? "" };
const agentsAt = (socket: string) =>
  execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(socket));

function newKey(t: { after(clean: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), "ssh-key-"));
  t.after(() => rmSync(folder, { recursive: true }));
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "key")]);
  return readFileSync(join(folder, "key"), "utf8");
}

test("an SSH agent has the key, and is gone after the work", { skip }, async (t) => {
  const list = (socket: string) =>
    execFileSync("ssh-add", ["-l"], { env: { ...env, SSH_AUTH_SOCK: socket }, encoding: "utf8" });
  let used = "";

  const listed = await withKey(newKey(t), env, async (socket) => {
    used = socket;
    return list(socket);
  });

  assert.match(listed, /ED25519/);
  await until(() => agentsAt(used).length === 0 || undefined);
  assert.ok(!existsSync(dirname(used)));
});

test("an SSH agent ends with a control that is killed", { skip }, async (t) => {
  const module = join(import.meta.dirname, "../../../control/repositories/ssh-key.ts");
  const text = `
    const { withKey } = await import(${JSON.stringify(module)});
    const keepAlive = setInterval(() => {}, 1000);
    await withKey(process.env.KEY, { PATH: process.env.PATH }, async (socket) => {
      console.log(socket);
      await new Promise(() => {});
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", text], {
    env: { ...env, KEY: newKey(t) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [chunk] = await once(child.stdout, "data");
  const socket = String(chunk).trim();
  assert.ok(existsSync(socket) && agentsAt(socket).length > 0);

  child.kill("SIGKILL");

  await until(() => agentsAt(socket).length === 0 || undefined);
  await until(() => !existsSync(dirname(socket)) || undefined);
});
