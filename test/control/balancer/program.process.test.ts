import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { Pool } from "undici";
import type { BalancerPlan, BalancerReport } from "../../../contract/balancer-api.ts";
import { linesOf } from "../../../control/doors/lines.ts";
import { testedArgs } from "../../helpers/tested.ts";
import { dial, type Wire } from "../../sidecar/raw.ts";
import { aPlan, aProbe, aServer, type Server1 } from "./bed.ts";

/** The real program, and control's side of it. */
interface Started {
  readonly child: ChildProcess;
  readonly socket: string;
  /** Everything it said, one line an entry. */
  readonly lines: string[];
  readonly exited: Promise<number | null>;
  /** Waits until it says this. */
  says(word: string): Promise<string>;
  call(route: string, body?: object): Promise<{ status: number; headers: object; json: never }>;
  /** The reports, one by one; leaving the loop closes the connection. */
  reports(): AsyncGenerator<BalancerReport>;
}

/** Starts the program in a folder of its own, or beside another; it is gone once the test is. */
async function start(t: TestContext, env: Record<string, string> = {}): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), "balancer-"));
  const socket = env["OUTRIGGER_SOCKET"] ?? join(folder, "balancer.sock");
  const child = spawn(process.execPath, testedArgs("balancer"), {
    env: { PATH: process.env["PATH"], OUTRIGGER_SOCKET: socket, OUTRIGGER_BUILD: "b1", ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines: string[] = [];
  let wake = () => {};
  createInterface(child.stderr).on("line", (line) => {
    lines.push(line);
    wake();
  });
  const exited = once(child, "close").then(([code]) => {
    wake();
    return code as number | null;
  });
  const pool = new Pool("http://balancer", { connect: { socketPath: socket }, bodyTimeout: 0 });
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
    await pool.destroy();
    rmSync(folder, { recursive: true });
  });
  const started: Started = {
    child,
    socket,
    lines,
    exited,
    async says(word) {
      for (;;) {
        const found = lines.find((line) => line.includes(word));
        if (found !== undefined) return found;
        if (child.exitCode !== null) assert.fail(`it ended and said ${lines.join("\n")}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    async call(route, body) {
      const [method = "GET", path = "/"] = route.split(" ");
      const sent = body === undefined ? null : JSON.stringify(body);
      const answer = await pool.request({ method: method as "GET", path, body: sent });
      const { statusCode: status, headers } = answer;
      return { status, headers, json: (await answer.body.json()) as never };
    },
    async *reports() {
      const { body } = await pool.request({ method: "GET", path: "/reports" });
      for await (const line of linesOf(body)) yield JSON.parse(line);
    },
  };
  await started.says("waits for its plan");
  return started;
}

const hold = { requests: 100, ms: 60_000 };
let revision = 0;

/** Tells it a plan with these replicas, of which the requests wait for the first to be ready. */
async function plan(
  balancer: Started,
  replicas: readonly Server1[],
  more: Partial<BalancerPlan> = {},
): Promise<number> {
  revision += 1;
  const body = aPlan(replicas, { revision, hold, ...more });
  const { status, json } = await balancer.call("PUT /plan", body);
  assert.equal(status, 200, JSON.stringify(json));
  return (json as { listen: { port: number } }).listen.port;
}

async function ask(t: TestContext, port: number, path = "/"): Promise<string> {
  const wire = dial(t, port);
  wire.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  return wire.end();
}

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

/** A request whose answer has begun, and what lets it end. */
async function begun(t: TestContext, one: Server1, port: number): Promise<[Wire, () => void]> {
  let finish = () => {};
  one.answer = (_, res) => {
    res.write("begun ");
    finish = () => res.end("ended");
  };
  const wire = dial(t, port);
  wire.send("GET /long?key=hidden HTTP/1.1\r\nHost: a\r\n\r\n");
  await wire.until(() => wire.text.includes("begun"));
  return [wire, () => finish()];
}

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

test("a newer one takes the port over while the old one drains, and no request is lost", async (t) => {
  const one = await aServer(t, 1);
  const old = await start(t);
  const port = await plan(old, [one]);
  const [wire, finish] = await begun(t, one, port);
  one.answer = (_, res) => void res.end("ok");
  const listen = `127.0.0.1:${port}`;
  const next = await start(t, { OUTRIGGER_LISTEN: listen, OUTRIGGER_SOCKET: old.socket });
  assert.equal(await plan(next, [one]), port);

  for (let nth = 0; nth < 30; nth += 1) {
    if (nth === 10) old.child.kill("SIGTERM");
    if (nth === 20) await old.says("stopping");
    assert.match(await ask(t, port), /^HTTP\/1\.1 200 /);
  }
  finish();
  assert.match(await wire.end(), /ended/);
  assert.equal(await old.exited, 0);
  // The socket is the newer one's by now.
  assert.equal((await next.call("GET /health")).status, 200);
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
