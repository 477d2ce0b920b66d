import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { startControl } from "../helpers/programs.ts";
import {
  aService,
  assertNothingIsLeft,
  clientOf,
  openStream,
  servers,
  serviceOf,
  unharmed,
} from "./service.ts";

for (const kind of ["node", "python"] as const)
  test(`a service of model servers in ${kind}`, { timeout: 300_000 }, async (t) => {
    const control = await startControl(t);
    const { home } = control;
    const service = serviceOf(control, "chat");
    const endpoint = await service.up(aService(control, { run: servers[kind] }));
    const client = clientOf(t, endpoint);
    const unauthorized = { status: 401, text: '{"error":"Unauthorized"}' };

    /** The servers that answer, once so many do. */
    const pidsOf = async (count: number) => {
      const pids = new Set<number>();
      await until(async () => pids.add((await client.who()).pid).size === count || undefined);
      return pids;
    };

    await t.test("answers whoever has the key, once a replica is ready", async () => {
      assert.equal((await client.get("/v1/models")).status, 200);
      assert.deepEqual(await client.get("/v1/models", null), unauthorized);
      assert.deepEqual(await client.get("/v1/models", "another"), unauthorized);
      assert.equal(await client.complete(false), "v1");
    });

    await t.test("passes tokens on as they come", async () => {
      const gate = join(home, "gate");
      const tokens: string[] = [];
      for await (const token of client.tokens(gate)) {
        tokens.push(token);
        // The last one waits for this.
        if (tokens.length === 3) writeFileSync(gate, "");
      }
      assert.deepEqual(tokens, ["t0 ", "t1 ", "t2 ", "t3 "]);
    });

    await t.test(
      "replaces a replica whose server is killed; the rest is uninterrupted",
      async () => {
        await service.untilReady(2);
        const [victim = 0] = await pidsOf(2);
        await unharmed(client, "listed", async () => {
          process.kill(victim, "SIGKILL");
          const failed = await service.until(({ replica_info }) =>
            replica_info.some(({ status }) => status === "FAILED"),
          );
          const { status_reason = "" } =
            failed.replica_info.find(({ status }) => status === "FAILED") ?? {};
          assert.match(status_reason, /137.*printed last:\nv1 listens on/s);
          await service.untilReady(2);
        });
        assert.ok(!(await pidsOf(2)).has(victim));
      },
    );

    await t.test("down finishes what is open, and leaves nothing", async () => {
      const gate = join(home, "last");
      const { begun, whole } = openStream(client, gate);
      await begun;
      const gone = service.down();
      const other = clientOf(t, endpoint);
      await until(async () => (await other.get("/v1/models")).status === 503 || undefined);
      writeFileSync(gate, "");
      assert.equal(await whole, 4);
      await gone;
      assert.equal(await service.status(), undefined);
      assertNothingIsLeft(control);
    });
  });
