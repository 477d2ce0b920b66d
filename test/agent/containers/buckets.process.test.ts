import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { findBearers } from "../../../common/process-tree.ts";
import { startAgent, until } from "../../helpers/agent.ts";
import { startEngine, whyNoEngine } from "../../helpers/engines.ts";
import { whyNoFuse } from "../../helpers/fuse.ts";
import { startS3, whyNoS3 } from "../../helpers/s3-store.ts";

for (const name of ["docker", "podman"] as const)
  test(`buckets are there in ${name}`, {
    skip: whyNoEngine(name) || whyNoS3 || whyNoFuse,
    timeout: 120_000,
  }, async (t) => {
    // What was started last ends first: without its store a mount hangs.
    const ends: (() => Promise<void>)[] = [];
    const started = { after: (end: () => Promise<void>) => void ends.unshift(end) };
    t.after(async () => {
      for (const end of ends) await end();
    });
    const store = await startS3(started);
    const engine = await startEngine(started, name);
    const outside = mkdtempSync(join(tmpdir(), "outside-"));
    started.after(async () => rmSync(outside, { recursive: true, force: true }));
    const agent = await startAgent(started, { env: engine.env });
    store.makeBucket("data");
    await store.put("data/a.txt", "a\n");
    const order = {
      ...{ name: "s3://data", bucket: "data", endpoint: store.endpoint },
      ...{ region: "us-east-1", keys: store.keys, readOnly: false, cache: null },
    } as const;
    const places = ["~/set", join(outside, "set")];
    for (const destination of places) await agent.call("putMount", { ...order, destination });
    // With a process more that is not of a script. Podman has no program for that here.
    const runOptions = name === "docker" ? ["--init"] : [];
    const put = { clusterId: "c0ffee", image: engine.image, login: null, runOptions };
    assert.match(await text((await agent.open("putContainer", put)).body), /"done"/);
    const outputOf = async (run: string) => {
      const { id } = await agent.submit(run);
      await agent.untilJob(id);
      return agent.log(id);
    };
    const mounts = join(agent.home, ".outrigger/agent/mounts");
    const findServers = () =>
      readdirSync(mounts).flatMap((name) =>
        findBearers(`OUTRIGGER_MOUNT_FOLDER=${join(mounts, name)}`),
      );
    const read = places.map((place) => `cat ${place}/a.txt`).join("; ");

    await t.test("read and written", async () => {
      const write = places.map((place, at) => `echo b > ${place}/${at}.txt`).join("; ");
      assert.equal(await outputOf(`${read}; ${write}`), "a\na\n");
      assert.equal(readFileSync(join(store.folder, "data/0.txt"), "utf8"), "b\n");
      assert.equal(readFileSync(join(store.folder, "data/1.txt"), "utf8"), "b\n");
    });

    await t.test(
      "mounted again, they are there for the next job, with what was installed",
      async () => {
        await outputOf("touch /installed");
        const running = await agent.submit("echo begun; until [ -e ~/go ]; do sleep 0.1; done");
        await until(async () => (await agent.log(running.id)).includes("begun") || undefined);
        const before = findServers();
        for (const { pid } of before) process.kill(pid, "SIGKILL");
        await until(async () => {
          const states = await agent.call("listMounts", {});
          const isNew = findServers().every(({ pid }) => !before.some((one) => one.pid === pid));
          return (isNew && states.every(({ problem }) => problem === null)) || undefined;
        });
        await outputOf("true");
        writeFileSync(join(agent.home, "go"), "");
        assert.equal((await agent.untilJob(running.id)).status, "SUCCEEDED");

        assert.equal(await outputOf(`${read}; ls /installed`), "a\na\n/installed\n");
      },
    );
  });
