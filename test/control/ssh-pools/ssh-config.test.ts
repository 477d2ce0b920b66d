import assert from "node:assert/strict";
import { test } from "node:test";
import { readSshConfig } from "../../../control/ssh-pools/ssh-config.ts";

test("what the SSH client resolved is used", () => {
  const text = [
    "host gpu",
    "user eve",
    "hostname 10.0.0.5",
    "port 2200",
    "identityfile ~/.ssh/id_a",
    "identityfile /keys/my key",
    "proxyjump ana@gate",
    "",
  ].join("\n");

  assert.deepEqual(readSshConfig("gpu", text), {
    hostname: "10.0.0.5",
    user: "eve",
    port: 2200,
    identityFiles: ["~/.ssh/id_a", "/keys/my key"],
    proxyJump: "ana@gate",
  });
});

test("without an SSH client the usual is taken", () => {
  const { hostname, port, proxyJump, identityFiles } = readSshConfig("10.0.0.5", "");

  assert.deepEqual([hostname, port, proxyJump], ["10.0.0.5", 22, null]);
  assert.ok(identityFiles.includes("~/.ssh/id_ed25519"));
});
