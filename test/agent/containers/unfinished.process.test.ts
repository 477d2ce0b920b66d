import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { startAgent, until } from "../../helpers/agent.ts";
import { startEngine, whyNoEngine } from "../../helpers/engines.ts";

for (const name of ["docker", "podman"] as const)
  test(`in ${name}, a container whose agent was killed as it made it is no container of the node`, {
    skip: whyNoEngine(name),
    timeout: 120_000,
  }, async (t) => {
    const ends: (() => Promise<void>)[] = [];
    const started = { after: (end: () => Promise<void>) => void ends.unshift(end) };
    t.after(async () => {
      for (const end of ends) await end();
    });
    const engine = await startEngine(started, name);
    const folder = mkdtempSync(join(tmpdir(), "hangs-"));
    started.after(async () => rmSync(folder, { recursive: true }));
    const [hangs, asked] = [join(folder, "hangs"), join(folder, "asked")];
    // What has a new container get the name of the user.
    const wait = `[ "$1" != exec ] || { touch ${asked}; while [ -e ${hangs} ]; do sleep 0.05; done; }`;
    const PATH = process.env["PATH"] ?? "";
    const rest = `PATH='${PATH}' exec ${name} "$@"`;
    writeFileSync(join(folder, name), `#!/bin/sh\n${wait}\n${rest}\n`, { mode: 0o755 });
    const agent = await startAgent(started, { env: { ...engine.env, PATH: `${folder}:${PATH}` } });
    const put = async (which: string) => {
      const runOptions = ["--env", `WHICH=${which}`];
      const order = { clusterId: "c0ffee", image: engine.image, login: null, runOptions };
      return text((await agent.open("putContainer", order)).body);
    };
    const outputOf = async (run: string) => {
      const { id } = await agent.submit(run);
      await agent.untilJob(id);
      return agent.log(id);
    };
    assert.match(await put("first"), /"done"/);

    rmSync(asked);
    writeFileSync(hangs, "");
    const lost = put("second").catch(() => "");
    await until(() => existsSync(asked) || undefined);
    await agent.end("SIGKILL");
    await lost;
    rmSync(hangs);
    await agent.start();

    assert.equal(await outputOf('echo "$WHICH"'), "first\n");
    assert.match(await put("second"), /"done"/);
    assert.equal(await outputOf('echo "$WHICH"'), "second\n");
    assert.equal((await engine.run("ps", "-aq")).split("\n").length, 1);
  });

test("nothing runs on a node that could not get its image", {
  skip: whyNoEngine("podman"),
  timeout: 60_000,
}, async (t) => {
  const ends: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const end of ends) await end();
  });
  const started = { after: (end: () => Promise<void>) => void ends.unshift(end) };
  const { env } = await startEngine(started, "podman");
  const agent = await startAgent(started, { env });
  const order = { clusterId: "c0ffee", image: "localhost:9/no/such:1", login: null };
  assert.match(await text((await agent.open("putContainer", order)).body), /"problem"/);

  const { id } = await agent.submit("touch ~/ran");

  assert.equal((await agent.untilJob(id)).status, "FAILED_DRIVER");
  assert.equal(existsSync(join(agent.home, "ran")), false);
});
