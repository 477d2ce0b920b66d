import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { listensAt } from "../../client/control-process.ts";

const launcher = join(import.meta.dirname, "../../bin/outrigger");

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real command line with a home folder of its own; what it started is stopped with the test. */
async function realCommandLine(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), "outrigger-api-"));
  // At a terminal the test runner asks what it starts for colours.
  const env: NodeJS.ProcessEnv = { ...process.env, OUTRIGGER_HOME: home, FORCE_COLOR: "0" };
  const outrigger = (...words: string[]): Promise<Ended> =>
    new Promise((resolve) =>
      execFile(launcher, words, { env }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
      ),
    );
  t.after(async () => {
    await outrigger("api", "stop");
    await rm(home, { recursive: true, force: true });
  });
  return { home, env, outrigger };
}

/** What control wrote about itself, once it listens. */
async function untilListening(home: string, child: ChildProcess) {
  const file = join(home, "control.pid");
  while (child.exitCode === null) {
    const told = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
    if (typeof told.port === "number") return told as { pid: number; host: string; port: number };
    await pause(20);
  }
  throw new Error(`ended with ${child.exitCode}`);
}

test("in the foreground control takes over the process, and SIGTERM ends it", async (t) => {
  const { home, env } = await realCommandLine(t);
  const words = ["api", "start", "--foreground", "--host", "127.0.0.1", "--port", "0"];
  const child = spawn(launcher, words, { env, stdio: "ignore" });
  const ended = once(child, "exit");

  const control = await untilListening(home, child);
  const health = await fetch(`http://127.0.0.1:${control.port}/api/health`);
  child.kill("SIGTERM");
  const [code, signal] = await ended;

  assert.equal(control.pid, child.pid);
  assert.equal(health.status, 200);
  assert.deepEqual([code, signal], [0, null]);
  assert.ok(!existsSync(join(home, "control.pid")));
});

test("in the background it is started once, told about, and stopped", async (t) => {
  const { home, env, outrigger } = await realCommandLine(t);

  const started = await outrigger("api", "start", "--port", "0");
  const again = await outrigger("api", "start");
  const elsewhere = await outrigger("api", "start", "--port", "1");
  const inFront = await outrigger("api", "start", "--foreground");
  env["OUTRIGGER_ENDPOINT"] = started.stdout.trim();
  const info = await outrigger("api", "info", "-o", "json");
  const stopped = await outrigger("api", "stop");
  const gone = await outrigger("api", "info");

  assert.match(started.stdout, /^http:\/\/127\.0\.0\.1:\d+\n$/, started.stderr);
  assert.equal(again.stdout, started.stdout);
  assert.match(again.stderr, /already running/);
  for (const { code, stdout, stderr } of [elsewhere, inFront]) {
    assert.deepEqual([code, stdout], [5, ""]);
    assert.match(stderr, /is already running at http:.*, pid \d+; .*outrigger api stop/);
  }
  assert.equal(JSON.parse(info.stdout).status, "healthy");
  assert.equal(stopped.code, 0);
  assert.deepEqual([gone.code, gone.stdout], [7, ""]);
  assert.match(gone.stderr, /no control plane at .*; start one with `outrigger api start`/);
  assert.ok(existsSync(join(home, "control.log")));
});

test("who starts a control plane again is told of the clusters that went on", async (t) => {
  const { env, outrigger } = await realCommandLine(t);
  const start = async () => {
    const { stdout, stderr } = await outrigger("api", "start", "--port", "0");
    env["OUTRIGGER_ENDPOINT"] = stdout.trim();
    return stderr;
  };
  const first = await start();
  await outrigger("launch", "-y", "-c", "dev", "true");
  await outrigger("api", "stop");
  const again = await start();
  await outrigger("down", "-y", "dev");

  assert.doesNotMatch(first, /cluster/);
  assert.match(again, /^1 cluster kept running: dev$/m);
});

test("a control plane that cannot start says why", async (t) => {
  const { outrigger } = await realCommandLine(t);

  const { code, stderr } = await outrigger("api", "start", "--host", "192.0.2.1");

  assert.equal(code, 2);
  assert.match(stderr, /^error: OUTRIGGER_HOST: 192\.0\.2\.1 is not a loopback address/m);
});

test("a port that is taken is answered with how to take another", async (t) => {
  const { outrigger } = await realCommandLine(t);
  const other = createServer().listen(0, "127.0.0.1");
  t.after(() => other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;

  const { code, stderr } = await outrigger("api", "start", "--port", String(port));

  assert.equal(code, 5);
  assert.match(stderr, /port \d+ of 127\.0\.0\.1 is taken; .* api start --port N$/m);
});

test("a control plane listens where it is asked to, or it does not", () => {
  const running = { pid: 1, startTicks: 1, host: "127.0.0.1", port: 46_580 };

  for (const same of [
    {},
    { port: 46_580 },
    { port: 0 },
    { host: "127.0.0.1" },
    { host: "localhost" },
  ])
    assert.ok(listensAt(running, same), JSON.stringify(same));
  for (const other of [{ port: 1 }, { host: "127.0.0.2" }, { host: "127.0.0.1", port: 1 }])
    assert.ok(!listensAt(running, other), JSON.stringify(other));
  assert.ok(listensAt({ pid: 1, startTicks: 1 }, { host: "127.0.0.2", port: 1 }));
});
