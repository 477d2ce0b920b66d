import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { readContexts } from "../../../../control/doors/kubernetes/kubeconfig.ts";

function aConfig(t: TestContext, user: object): string {
  const folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "config");
  const config = {
    "current-context": "a",
    clusters: [
      { name: "k", cluster: { server: "https://host:6443/", "certificate-authority": "ca.pem" } },
    ],
    users: [{ name: "u", user }],
    contexts: [{ name: "a", context: { cluster: "k", user: "u", namespace: "team" } }],
  };
  writeFileSync(file, JSON.stringify(config));
  writeFileSync(join(folder, "ca.pem"), "CA");
  return file;
}

test("a context has its server, its namespace and files beside the kubeconfig", async (t) => {
  const { current, all } = await readContexts(aConfig(t, { token: "abc" }));
  const [context] = all;
  assert.equal(current, "a");
  assert.equal(context?.server, "https://host:6443");
  assert.equal(context?.namespace, "team");
  assert.equal(String(context?.tls.ca), "CA");
  assert.equal((await context?.authorization())?.reveal(), "Bearer abc");
});

test("a program that logs in is asked again once its token has expired", async (t) => {
  const file = aConfig(t, {
    exec: { apiVersion: "client.authentication.k8s.io/v1", command: "./log-in" },
  });
  const program = join(file, "../log-in");
  const count = join(file, "../count");
  writeFileSync(
    program,
    `#!/bin/sh\necho x >> ${count}\necho '{"status": {"token": "'$(wc -l < ${count})'", "expirationTimestamp": "'$(date -u -d "@0" +%FT%TZ)'"}}'\n`,
  );
  chmodSync(program, 0o700);
  const [context] = (await readContexts(file)).all;
  const ask = async () => (await context?.authorization())?.reveal();
  assert.equal(await ask(), "Bearer 1");
  assert.equal(await ask(), "Bearer 2", "it had expired in 1970");
  assert.equal(readFileSync(count, "utf8"), "x\nx\n");
});

test("in a pod, control uses its service account, unless there is a kubeconfig", async (t) => {
  const file = aConfig(t, {});
  const folder = join(file, "..");
  const nowhere = join(folder, "none");
  assert.deepEqual(await readContexts(nowhere, folder), { current: null, all: [] });
  const files = { token: "abc\n", namespace: "team\n", "ca.crt": "CA" };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);

  const { current, all } = await readContexts(nowhere, folder);

  const [context] = all;
  assert.deepEqual([current, context?.name], ["in-cluster", "in-cluster"]);
  assert.equal(context?.server, "https://kubernetes.default.svc");
  assert.equal(context?.namespace, "team");
  assert.equal(String(context?.tls.ca), "CA");
  assert.equal((await context?.authorization())?.reveal(), "Bearer abc");
  assert.equal((await readContexts(file, folder)).current, "a");
});

test("a file that is no kubeconfig says so", async (t) => {
  const file = aConfig(t, {});
  writeFileSync(file, "contexts: 3");
  await assert.rejects(readContexts(file), /is not a kubeconfig/);
  assert.deepEqual(await readContexts("/nowhere"), { current: null, all: [] });
});
