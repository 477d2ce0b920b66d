import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Pool } from "undici";
import { findProcess, isAlive } from "../../../common/process-tree.ts";
import { until } from "../../helpers/agent.ts";
import { kill } from "../../helpers/programs.ts";
import { testedArgs } from "../../helpers/tested.ts";
import { aServer, type Server1 } from "./bed.ts";

import { ask, begun, type Called, call, plan, start } from "./program.ts";

/** Asks all the time over new connections, several at once; `stop` answers what was no good answer. */
function hammer(t: TestContext, port: number, clients: number) {
  let isStopped = false;
  const bad: string[] = [];
  const asking = Array.from({ length: clients }, async () => {
    while (!isStopped) {
      const answer = await ask(t, port);
      if (!answer.startsWith("HTTP/1.1 200 ")) bad.push(answer);
    }
  });
  t.after(() => {
    isStopped = true;
  });
  return async () => {
    isStopped = true;
    await Promise.all(asking);
    return bad;
  };
}

/** Has a balancer start another one, which takes its place. */
async function succeed(t: TestContext, old: Called, one: Server1, port: number) {
  const folder = mkdtempSync(join(tmpdir(), "balancer-"));
  const socket = join(folder, "balancer.sock");
  const log = join(folder, "log");
  const env = { OUTRIGGER_SOCKET: socket, OUTRIGGER_LISTEN: "127.0.0.1:1" };
  const command = [process.execPath, ...testedArgs("balancer")];
  const { json } = await old.call("POST /replace", { command, cwd: folder, env, log });
  const found = findProcess((json as { pid: number }).pid) ?? assert.fail("it ended");
  const pool = new Pool("http://balancer", { connect: { socketPath: socket } });
  t.after(async () => {
    kill(found.pid);
    await pool.destroy();
    rmSync(folder, { recursive: true });
  });
  await until(() => readFileSync(log, "utf8").includes("waits for its plan") || undefined);
  const next: Called = { call: (route, body) => call(pool, route, body) };
  assert.equal(await plan(next, [one]), port);
  assert.equal((await old.call("POST /end", { drainMs: 60_000 })).json, null);
  return { ...next, gone: () => until(() => !isAlive(found) || undefined) };
}

test("a newer one inherits the sockets of the old one, and no connection is lost", async (t) => {
  const one = await aServer(t, 1);
  const old = await start(t);
  const port = await plan(old, [one]);
  const [wire, finish] = await begun(t, one, port);
  one.answer = (_, res) => void res.end("ok");
  const stop = hammer(t, port, 16);

  const first = await succeed(t, old, one, port);
  const second = await succeed(t, first, one, port);
  await first.gone();
  const third = await succeed(t, second, one, port);
  await second.gone();

  assert.deepEqual(await stop(), []);
  finish();
  assert.match(await wire.end(), /ended/);
  assert.equal(await old.exited, 0);
  assert.equal((await third.call("GET /health")).status, 200);
});
