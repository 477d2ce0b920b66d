import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { testedArgs } from "../../helpers/tested.ts";
import { dial } from "../../sidecar/raw.ts";
import { aPlan, aProbe, aServer } from "./bed.ts";

import { ask, begun, plan, revision, start } from "./program.ts";

test("control hears who it is and what it sees over a socket that is its own", async (t) => {
  const one = await aServer(t, 1);
  const balancer = await start(t);

  assert.equal(statSync(balancer.socket).mode & 0o777, 0o600);
  const { headers, json: before } = await balancer.call("GET /health");
  assert.ok(!("keep-alive" in headers), "it ends no connection that a call may come on");
  assert.deepEqual(before, {
    ...{ build: "b1", pid: balancer.child.pid, revision: null },
    listen: { host: "127.0.0.1", port: 0 },
  });
  const port = await plan(balancer, [one]);
  assert.match(await ask(t, port), /^HTTP\/1\.1 200 /);

  for await (const report of balancer.reports())
    if (report.arrivals.includes(1)) {
      assert.equal(report.revision, revision);
      assert.equal(report.replicas[0]?.readiness, "ready");
      break;
    }
});

test("what is wrong with a plan is told without what it says", async (t) => {
  const balancer = await start(t);
  const probe = aProbe({ headers: { Authorization: "Bearer very-secret" } });
  const secret = { probes: { 1: { ...probe, method: "very-secret" } } };
  const tls = { key: "very-secret", cert: "very-secret" };

  const answers = [
    await balancer.call("PUT /plan", { ...aPlan([]), ...secret }),
    await balancer.call("PUT /plan", { ...aPlan([]), tls }),
    await balancer.call("PUT /plan", { revision: 1 }),
  ];
  const unknown = await balancer.call("GET /secrets");

  assert.deepEqual(
    answers.map(({ status }) => status),
    [400, 400, 400],
  );
  assert.equal(unknown.status, 404);
  assert.doesNotMatch(JSON.stringify(answers) + balancer.lines.join("\n"), /very-secret/);
  const { json } = await balancer.call("GET /health");
  assert.equal((json as { revision: null }).revision, null);
});

test("it serves on when its connection to control goes, and probes go on", async (t) => {
  const [one, two] = [await aServer(t, 1), await aServer(t, 2)];
  const balancer = await start(t);
  const port = await plan(balancer, [one, two]);
  for await (const { replicas } of balancer.reports())
    if (replicas.every(({ readiness }) => readiness === "ready")) break;

  assert.match(await ask(t, port), /^HTTP\/1\.1 200 /);
  rmSync(balancer.socket);
  await one.die();

  for (let nth = 0; nth < 5; nth += 1) assert.match(await ask(t, port), /^HTTP\/1\.1 200 /);
  const before = two.probes.length;
  await new Promise<void>((resolve) => {
    two.server.on("request", () => two.probes.length > before && resolve());
  });
});

for (const how of ["POST /end", "SIGTERM"])
  test(`after ${how} it finishes what is open, takes nothing new, and exits`, async (t) => {
    const one = await aServer(t, 1);
    const balancer = await start(t);
    const port = await plan(balancer, [one]);
    const [wire, finish] = await begun(t, one, port);

    if (how === "SIGTERM") balancer.child.kill("SIGTERM");
    else assert.equal((await balancer.call(how, { drainMs: 60_000 })).json, null);
    await balancer.says("stopping");
    await refused(t, port);
    finish();

    assert.match(await wire.end(), /begun [\s\S]*ended[\s\S]*0\r\n\r\n$/);
    assert.equal(await balancer.exited, 0);
    assert.equal(statSync(balancer.socket, { throwIfNoEntry: false }), undefined);
    const [line = ""] = balancer.lines.filter((said) => said.includes('"request"'));
    const { method, path, status, replica, outcome, bytesOut, tookMs } = JSON.parse(line);
    assert.deepEqual(
      [method, path, status, replica, outcome],
      ["GET", "/long", 200, 1, "answered"],
    );
    assert.ok(bytesOut > 0 && tookMs > 0);
    assert.doesNotMatch(balancer.lines.join("\n"), /hidden/);
  });

/** Waits until nobody listens there. */
async function refused(t: TestContext, port: number): Promise<void> {
  for (;;) {
    const { socket } = dial(t, port);
    const [error] = await Promise.race([once(socket, "connect"), once(socket, "close")]).catch(
      (failure: unknown) => [failure],
    );
    socket.destroy();
    if (error instanceof Error) return;
  }
}

test("what is open for longer than the drain is cut", async (t) => {
  const one = await aServer(t, 1);
  const balancer = await start(t);
  const port = await plan(balancer, [one]);
  const [wire] = await begun(t, one, port);

  await balancer.call("POST /end", { drainMs: 20 });

  await wire.gone();
  assert.equal(await balancer.exited, 0);
  assert.match(balancer.lines.join("\n"), /"requests":1,"msg":"closed requests/);
});

test("one that control can never find again ends by itself", async (t) => {
  const { socket, exited, says } = await start(t);
  await says("waits for its plan");

  rmSync(socket);

  assert.equal(await exited, 0);
});

test("it does not start with settings it does not know, or without a socket", async () => {
  const cases = [
    [{}, /OUTRIGGER_SOCKET/],
    [{ OUTRIGGER_SOCKET: "/nowhere/s", OUTRIGGER_LISTEN: "nowhere" }, /HOST:PORT/],
    [{ OUTRIGGER_SOCKET: "/nowhere/s", OUTRIGGER_FAST: "1" }, /OUTRIGGER_FAST/],
  ] as const;

  for (const [env, message] of cases) {
    const child = spawn(process.execPath, testedArgs("balancer"), {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const said: string[] = [];
    createInterface(child.stderr).on("line", (line) => said.push(line));
    const [code] = await once(child, "close");
    assert.equal(code, 2);
    assert.match(said.join("\n"), message);
  }
});
