import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Bundles } from "../../../../control/doors/ssh/bundles.ts";
import { openSshConnections } from "../../../../control/doors/ssh/connections.ts";
import { sshLogin } from "../../../../control/providers/slurm/ssh-login.ts";
import { startSshHost, whyNoHosts } from "../../../helpers/ssh-hosts.ts";

const hosts = { skip: whyNoHosts(), timeout: 60_000 };

async function aLogin(t: TestContext) {
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
  const ways = { connections, bundles, resolve: async () => host.target() };
  return { login: sshLogin({ name: "login" }, ways, undefined), copies: () => copies };
}

test(
  "what is asked of a login node at once goes over one connection, and the agent is brought once",
  hosts,
  async (t) => {
    const { login, copies } = await aLogin(t);
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
    assert.equal(copies(), 2);
    await login.agent(signal);
    assert.equal(copies(), 4);
  },
);

/** Notes how many of its kind run, and waits until it may end. */
const script = `cd; mkdir -p running; touch "running/$1"
ls running | wc -l >> counts
until [ -e enough ]; do sleep 0.01; done
rm "running/$1"; echo "$1" >> ran`;
const untilFourRun = 'cd; until [ "$(wc -l < counts)" -ge 4 ]; do sleep 0.01; done 2> /dev/null';

test(
  "at most four scripts run at once on a login node; looks do not wait for them, and aborted ones leave the line",
  hosts,
  async (t) => {
    const { login } = await aLogin(t);
    const ending = new AbortController();
    const asked = Array.from({ length: 12 }, (_, at) => login.run(script, [`${at}`]));
    const aborted = login.run(script, ["aborted"], ending.signal, "whole");
    const left = assert.rejects(aborted, { name: "AbortError" });

    await login.run(untilFourRun, [], undefined, "look");
    ending.abort();
    await left;
    await login.run("cd; touch enough", [], undefined, "look");
    await Promise.all(asked);

    const counts = await login.run("cd; sort -n counts | tail -n 1; cat ran", []);
    const [most, ...ran] = counts.trim().split("\n");
    assert.equal(most, "4");
    assert.deepEqual(
      ran.map(Number).sort((a, b) => a - b),
      [...asked.keys()],
    );
  },
);
