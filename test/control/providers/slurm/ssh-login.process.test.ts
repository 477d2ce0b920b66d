import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bundles } from "../../../../control/doors/ssh/bundles.ts";
import { openSshConnections } from "../../../../control/doors/ssh/connections.ts";
import { sshLogin } from "../../../../control/providers/slurm/ssh-login.ts";
import { startSshHost, whyNoHosts } from "../../../helpers/ssh-hosts.ts";

test("what is asked of a login node at once goes over one connection, without more sessions than it lets begin", {
  skip: whyNoHosts(),
  timeout: 60_000,
}, async (t) => {
  const host = await startSshHost(t);
  const connections = openSshConnections({
    find: async () => undefined,
    keep: async (_, key) => key,
  });
  t.after(() => connections.close());
  let copies = 0;
  const bundle = async () => ({ file: "/dev/null", hash: "0".repeat(64), bytes: 1 });
  const inTurn = async () => {
    copies += 1;
  };
  const bundles = { runtime: bundle, agent: bundle, inTurn } as unknown as Bundles;
  const login = sshLogin(
    { name: "login" },
    { connections, bundles, resolve: async () => host.target() },
    undefined,
  );
  const { signal } = new AbortController();
  const brought = Array.from({ length: 12 }, () => login.agent(signal));
  const asked = Array.from({ length: 24 }, (_, at) =>
    login.run('echo "$1 $SSH_CLIENT"', [`${at}`]),
  );

  const answers = (await Promise.all(asked)).map((said) => said.trim().split(" "));

  assert.deepEqual(
    answers.map(([at]) => Number(at)),
    [...answers.keys()],
  );
  assert.equal(new Set(answers.map(([, , port]) => port)).size, 1);
  assert.equal(new Set((await Promise.all(brought)).map(String)).size, 1);
  assert.equal(copies, 2);
  await login.agent(signal);
  assert.equal(copies, 4);
});
