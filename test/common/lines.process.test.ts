import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { connect, type NetConnectOpts } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Lines, openPlace } from "../../common/lines.ts";
import type { Program } from "../../common/programs.ts";
import { findPort } from "../../sidecar/wrap.ts";
import { until } from "../helpers/agent.ts";
import { testedArgs } from "../helpers/tested.ts";
import { unreadPipe } from "../helpers/unread.ts";

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "lines-"));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

const aLine = (number: number) => `${JSON.stringify({ number, text: "x".repeat(1_000) })}\n`;
const numberOf = (line: string): number | undefined => JSON.parse(line).number;

test("lines that nobody reads are dropped, counted, and reported once there is room", async (t) => {
  const pipe = unreadPipe(t);
  const lines = new Lines("test", openPlace(`/proc/self/fd/${pipe.fd}`));
  const count = 2_000;
  const began = performance.now();

  for (let number = 0; number < count; number += 1) lines.write(aLine(number));
  const tookMs = performance.now() - began;
  let said = "";
  await until(() => {
    said += pipe.read();
    return said.includes("log lines dropped") ? said : undefined;
  });
  await lines.close();
  said += pipe.read();

  const all = said.trimEnd().split("\n");
  const report = JSON.parse(all.find((line) => line.includes("log lines dropped")) ?? "{}");
  const numbers = all.map(numberOf).filter((number) => number !== undefined);
  assert.ok(tookMs < 5_000, `it waited ${tookMs} ms`);
  assert.ok(lines.dropped > 0);
  assert.deepEqual([report.dropped, report.program], [lines.dropped, "test"]);
  assert.deepEqual(
    numbers,
    Array.from({ length: count - lines.dropped }, (_, number) => number),
  );
});

test("a file gets every line in its order, and each is whole", async (t) => {
  const file = join(aFolder(t), "log");
  const lines = new Lines("test", openPlace(file));
  const count = 500;

  for (let number = 0; number < count; number += 1)
    if (number % 2 === 0) lines.write(aLine(number));
    else lines.writeSoon(aLine(number));
  await lines.close();

  const numbers = readFileSync(file, "utf8").trimEnd().split("\n").map(numberOf);
  assert.deepEqual(
    numbers,
    Array.from({ length: count }, (_, number) => number),
  );
});

test("a process that exits writes what fits, and no more than that", (t) => {
  const pipe = unreadPipe(t);
  const module = new URL("../../common/lines.ts", import.meta.url);
  const program = `
    import { Lines, stderr } from "${module}";
    const lines = new Lines("test", stderr());
    for (let line = 0; line < 100_000; line += 1) lines.writeSoon("one of many lines\\n");
    throw new Error("crashed");`;
  const crash = `process.once("uncaughtException", () => process.exit(1));${program}`;

  const { status } = spawnSync(process.execPath, ["--input-type=module", "-e", crash], {
    stdio: ["ignore", "ignore", pipe.fd],
    timeout: 20_000,
  });

  assert.equal(status, 1);
  const { length } = pipe.read();
  assert.ok(length > 32_768 && length <= 65_536, String(length));
});

/** How each program is started, and where it listens once it is at work. */
const programs: Record<
  Program,
  (folder: string, port: number) => { env: object; args?: string[]; to: NetConnectOpts }
> = {
  control: (folder, port) => ({
    env: { OUTRIGGER_HOME: folder, OUTRIGGER_PORT: String(port) },
    to: { host: "127.0.0.1", port },
  }),
  agent: (folder) => ({
    env: { HOME: folder, OUTRIGGER_NOTICES: "none", OUTRIGGER_ON_TERM: "leave" },
    to: { path: join(folder, ".outrigger/agent/agent.sock") },
  }),
  sidecar: (_, port) => ({
    args: ["--listen", `127.0.0.1:${port}`, "--key", "k", "--upstream", "127.0.0.1:1"],
    env: {},
    to: { host: "127.0.0.1", port },
  }),
  balancer: (folder) => ({
    env: { OUTRIGGER_SOCKET: join(folder, "balancer.sock") },
    to: { path: join(folder, "balancer.sock") },
  }),
};

const isListening = async (to: NetConnectOpts): Promise<true | undefined> => {
  const socket = connect(to);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
};

/** Makes a call, and waits until the program closes the connection. */
async function answerOf(to: NetConnectOpts): Promise<void> {
  const socket = connect(to).resume();
  socket.end("GET / HTTP/1.0\r\n\r\n");
  await once(socket, "close");
}

const unwritable = {
  "a pipe that nobody reads and is full": (t: TestContext) => {
    const pipe = unreadPipe(t);
    pipe.fill();
    return pipe.fd;
  },
  "a disk that is full": () => openSync("/dev/full", "w"),
};

/** Starts a program with its stderr there, and waits until it listens. */
async function startOn(t: TestContext, program: Program, fd: number) {
  const { env, args = [], to } = programs[program](aFolder(t), await findPort());
  const child = spawn(process.execPath, [...testedArgs(program), ...args], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "ignore", fd],
  });
  t.after(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  await until(() => isListening(to));
  return { child, exited, to };
}

for (const program of Object.keys(programs) as Program[])
  for (const [what, open] of Object.entries(unwritable))
    test(`${program} works and ends while its log is ${what}`, { timeout: 60_000 }, async (t) => {
      const { child, exited } = await startOn(t, program, open(t));

      child.kill("SIGTERM");

      assert.deepEqual(await exited, [0, null]);
    });

for (const program of ["agent", "sidecar", "balancer"] as const)
  test(`${program} leaves a pipe that it shares as it is`, { timeout: 60_000 }, async (t) => {
    const pipe = unreadPipe(t);
    const { to } = await startOn(t, program, pipe.fd);
    // Node.js does more when it destroys a connection. Once the second call is answered, the first has been destroyed.
    for (let count = 0; count < 2; count += 1) await answerOf(to);

    const said = await until(() => pipe.read() || undefined);

    assert.match(said, new RegExp(`"program":"${program}"`));
    // From source, Node.js changes it by itself: an import of `node:util` reads all that it exports.
    if (process.env["BUNDLES"] !== undefined) assert.equal(pipe.isNonBlocking(), false);
  });
