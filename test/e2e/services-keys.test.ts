import assert from "node:assert/strict";
import { test } from "node:test";
import { serveOperations as rows } from "../../contract/operations/serve.ts";
import { findLeaks } from "../helpers/leaks.ts";
import { startControl } from "../helpers/programs.ts";
import { aService, clientOf, key, servers, serviceOf } from "./service.ts";

/** Where the key comes from: `service.auth` has a sidecar ask for it, without it the servers do. */
const documents = {
  "secrets, asked for by the servers": {},
  "envs, asked for by the servers": { more: { envs: { MODEL: "v1", API_KEY: key }, secrets: {} } },
  "secrets, asked for by a sidecar": {
    run: `unset API_KEY; ${servers.node}`,
    service: { auth: { api_key: "$API_KEY" } },
  },
};

for (const [name, more] of Object.entries(documents))
  test(`a key of ${name} is nowhere but where it is used`, { timeout: 300_000 }, async (t) => {
    const control = await startControl(t, { env: { LOG_LEVEL: "debug" } });
    const { client, home } = control;
    const service = serviceOf(control, "chat");

    const models = clientOf(t, await service.up(aService(control, more)));
    await service.untilReady(2);

    await t.test("while requests are answered", async () => {
      await Promise.all([models.who(), models.complete(true), models.complete(false)]);
      assert.equal((await models.get("/v1/models", null)).status, 401);
      assert.deepEqual(findLeaks(key, home), []);
    });

    await t.test("in what clients are shown", async () => {
      const logs = ["controller", "load_balancer", "replica"] as const;
      const shown = await Promise.all([
        client.callAndGet(rows.status, { service_names: null }),
        client.read("/api/status", { all_status: true }),
        ...logs.map((log) => service.log(log, log === "replica" ? 1 : undefined)),
      ]);
      const text = JSON.stringify(shown);
      assert.match(text, /API_KEY/);
      assert.ok(!text.includes(key));
    });

    await t.test(
      "after an update, a crash of control, a failure, and once it is down",
      async () => {
        await service.update(aService(control, { ...more, model: "v2" }));
        await service.untilReady(2, 2);
        process.kill((await models.who()).pid, "SIGKILL");
        await control.end("SIGKILL");
        assert.deepEqual(findLeaks(key, home), []);
        await control.start();
        await service.until(({ replica_info }) =>
          replica_info.some(({ status }) => status === "FAILED"),
        );
        await service.untilReady(2, 2);
        const copied = { service_name: service.name, local_dir: ".", targets: null };
        await client.callAndGet(rows.downloadLogs, copied);
        assert.deepEqual(findLeaks(key, home), []);
        await service.down();
        assert.deepEqual(findLeaks(key, home), []);
      },
    );
  });
