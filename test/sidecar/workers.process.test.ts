import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isAlive, listProcesses, type ProcessStat } from "../../common/process-tree.ts";
import { readConfig } from "../../sidecar/config.ts";
import { until } from "../helpers/agent.ts";
import { ask, portOf, type Started, start } from "./program.ts";
import { dial, type RawUpstream, rawUpstream, type Wire } from "./raw.ts";

const fixture = join(import.meta.dirname, "../fixtures/serves-port");
/** Enough that each of two workers is sure to get some. */
const crowd = 40;

interface Bed {
  readonly sidecar: Started;
  readonly upstream: RawUpstream;
  readonly port: number;
  workers(): ProcessStat[];
  /** The page of metrics, as a value for each sample. */
  metrics(): Promise<Map<string, number>>;
  health(): Promise<string>;
  /** Writes the key file, without a signal. */
  writeKeys(text: string): void;
}

const prefix = "outrigger_sidecar_";

/** A sidecar with two workers, and an upstream of the test's own. */
async function twoWorkers(t: TestContext, ...args: string[]): Promise<Bed> {
  const folder = mkdtempSync(join(tmpdir(), "workers-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const keyFile = join(folder, "keys");
  const writeKeys = (text: string) => writeFileSync(keyFile, text);
  writeKeys("old id=a\nother id=b\n");
  const upstream = await rawUpstream(t);
  const own = ["--workers", "2", "--key-file", keyFile, "--metrics", "127.0.0.1:0"];
  const to = ["--upstream", `127.0.0.1:${upstream.port}`, "--access-log", "off"];
  const sidecar = start(t, [...own, ...to, ...args]);
  const { port, monitor } = JSON.parse(await sidecar.line('"listening"'));
  const page = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${monitor.port}${path}`);
    return response.text();
  };
  return {
    ...{ sidecar, upstream, port, writeKeys },
    workers: () => childrenOf(sidecar),
    async metrics() {
      const lines = (await page("/metrics")).split("\n").filter((line) => line.startsWith(prefix));
      return new Map(
        lines.map((line) => {
          const at = line.lastIndexOf(" ");
          return [line.slice(prefix.length, at), Number(line.slice(at))];
        }),
      );
    },
    health: () => page("/healthz"),
  };
}

const childrenOf = ({ process: { pid } }: Started): ProcessStat[] =>
  listProcesses().filter((one) => one.parent === pid && one.alive);

const request = (key: string) =>
  `GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** Kept connections on which one request each has been answered. */
async function askTogether(t: TestContext, port: number, key: string): Promise<Wire[]> {
  const wires = Array.from({ length: crowd }, () => dial(t, port));
  for (const wire of wires) wire.send(request(key));
  for (const wire of wires) assert.match(await wire.answer(), /^HTTP\/1\.1 200 /);
  return wires;
}

test("two workers serve one port, their metrics are sums, and all refuse a key that was taken away", async (t) => {
  const { sidecar, port, metrics, health, writeKeys, workers } = await twoWorkers(t);

  const wires = await askTogether(t, port, "old");
  const counted = await metrics();

  assert.equal(workers().length, 2);
  assert.equal(counted.get('requests_total{outcome="answered",key="a"}'), crowd);
  assert.equal(counted.get("request_seconds_count"), crowd);
  assert.equal(counted.get('request_seconds_bucket{le="+Inf"}'), crowd);
  assert.equal(counted.get("connections"), crowd);
  assert.equal(counted.get("keys"), 2);
  assert.equal(counted.get("workers"), 2);
  assert.equal(await health(), '{"status":"ok"}');

  writeKeys("new id=c\n");
  sidecar.process.kill("SIGHUP");
  await sidecar.line("keys read again");
  for (const wire of wires) wire.send(request("old"));
  for (const wire of wires) assert.match(await wire.answer(), /^HTTP\/1\.1 401 /);
  for (const wire of wires) wire.send(request("new"));
  for (const wire of wires) assert.match(await wire.answer(), /^HTTP\/1\.1 200 /);
  assert.equal((await metrics()).get("keys"), 1);
});

test("a worker that is killed breaks its own connections alone, and is replaced and counted", async (t) => {
  const { sidecar, port, metrics, workers } = await twoWorkers(t);
  const wires = await askTogether(t, port, "old");
  const before = await metrics();
  const [victim] = workers();

  process.kill(victim?.pid ?? 0, "SIGKILL");
  const warned = JSON.parse(await sidecar.line("a worker ended and is replaced"));
  for (const wire of wires) if (!wire.socket.destroyed) wire.send(request("old"));
  const answers = await Promise.allSettled(wires.map((wire) => wire.answer()));
  const meanwhile = await ask(t, port, "old");
  await sidecar.line("a worker listens");

  assert.deepEqual([warned.worker, warned.signal, warned.level], [victim?.pid, "SIGKILL", 40]);
  const answered = answers.filter(({ status }) => status === "fulfilled").length;
  assert.ok(answered > 0 && answered < crowd, `${answered} of ${crowd} connections went on`);
  assert.match(meanwhile, /^HTTP\/1\.1 200 /);
  await askTogether(t, port, "other");
  const after = await metrics();
  assert.deepEqual([after.get("workers"), after.get("workers_replaced_total")], [2, 1]);
  const total = 'requests_total{outcome="answered",key="a"}';
  assert.equal(before.get(total), crowd);
  assert.equal(after.get(total), crowd + answered + 1);
});

test("workers that end soon are replaced later each time", async (t) => {
  const { sidecar, workers } = await twoWorkers(t);
  const waits = [];
  let victim = workers()[0]?.pid;

  for (let round = 0; round < 3; round += 1) {
    process.kill(victim ?? 0, "SIGKILL");
    waits.push(JSON.parse(await sidecar.line("is replaced", `"worker":${victim},`)).waitMs);
    const isNext = (line: string) => line.includes("a worker listens");
    await until(() => sidecar.lines.filter(isNext).length > round || undefined);
    victim = JSON.parse(sidecar.lines.filter(isNext).at(-1) ?? "").worker;
  }

  assert.deepEqual(waits, [100, 200, 400]);
});

test("a worker that hangs is killed before a change of keys is reported", async (t) => {
  const { sidecar, port, writeKeys, workers } = await twoWorkers(t);
  const wires = await askTogether(t, port, "old");
  const [victim] = workers();
  process.kill(victim?.pid ?? 0, "SIGSTOP");

  writeKeys("new id=c\n");
  sidecar.process.kill("SIGHUP");
  await sidecar.line("keys read again");

  assert.equal(victim !== undefined && isAlive(victim), false);
  for (const wire of wires) if (!wire.socket.destroyed) wire.send(request("old"));
  for (const answer of await Promise.allSettled(wires.map((wire) => wire.answer())))
    if (answer.status === "fulfilled") assert.match(answer.value, /^HTTP\/1\.1 401 /);
});

test("one SIGTERM drains the streams of all workers, also when the workers get it too", async (t) => {
  const { sidecar, upstream, port, metrics, health, workers } = await twoWorkers(t);
  upstream.answer = (wire) => wire.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
  const streams = Array.from({ length: crowd }, () => dial(t, port));
  for (const wire of streams) wire.send(request("old"));
  for (const wire of streams) await wire.until(() => wire.text.endsWith("ab"));
  assert.equal((await metrics()).get("open_requests"), crowd);
  const started = workers();

  for (const { pid } of started) process.kill(pid, "SIGTERM");
  sidecar.process.kill("SIGTERM");
  await sidecar.line('"stopping"');
  assert.equal(await health(), '{"status":"draining"}');
  const isClosed = () =>
    fetch(`http://127.0.0.1:${port}`).then(
      () => undefined,
      () => true,
    );
  await until(isClosed);
  for (const wire of upstream.wires) wire.send("cd");

  for (const wire of streams) assert.match(await wire.answer(), /\r\n\r\nabcd$/);
  assert.equal(await sidecar.exited, 0);
  assert.deepEqual(started.filter(isAlive), []);
  assert.doesNotMatch(sidecar.lines.join("\n"), /cut what|is replaced/);
});

test("a wrapped command runs once, and its end ends all", async (t) => {
  const script = `${process.execPath} ${fixture} {port} & read -r _ < "$0"; kill $!; exit 7`;
  const folder = mkdtempSync(join(tmpdir(), "workers-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const gate = join(folder, "gate");
  const command = ["--", "sh", "-c", `mkfifo "$0"; ${script}`, gate];
  const sidecar = start(t, ["--workers", "2", "--key", "k", ...command]);
  const port = await portOf(sidecar);
  await sidecar.line("serving on");
  for (let asked = 0; asked < 10; asked += 1)
    assert.match(await ask(t, port, "k", "/hello"), /\r\n\r\nGET \/hello$/);
  const started = childrenOf(sidecar);

  writeFileSync(gate, "\n");

  assert.equal(await sidecar.exited, 7);
  assert.equal(sidecar.lines.filter((line) => line.startsWith("serving on")).length, 1);
  // The shell that looks after the command ends once the sidecar has.
  await until(() => !started.some(isAlive) || undefined);
});

test("nothing is left of a sidecar that is killed", async (t) => {
  const sidecar = start(t, [
    "--workers",
    "2",
    "--key",
    "k",
    "--",
    process.execPath,
    fixture,
    "{port}",
  ]);
  await portOf(sidecar);
  await sidecar.line("serving on");
  const started = childrenOf(sidecar);

  sidecar.process.kill("SIGKILL");

  await sidecar.exited;
  // Two workers, the command, and the shell that looks after it.
  assert.equal(started.length, 4);
  await until(() => !started.some(isAlive) || undefined);
});

test("a port that is taken is refused, and so is a number of workers that cannot be", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  t.after(() => other.close());
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const where = `127.0.0.1:${port}`;
  const args = ["--workers", "2", "--key", "k", "--upstream", "127.0.0.1:1", "--listen", where];
  const sidecar = start(t, args);
  const withWorkers = (workers: string) =>
    readConfig(["--upstream", "127.0.0.1:1", "--workers", workers], {})?.workers;

  assert.equal(await sidecar.exited, 2);
  await sidecar.line(`cannot listen on ${where}: EADDRINUSE`);
  assert.equal(withWorkers("auto"), availableParallelism());
  for (const wrong of ["0", "257", "many", "1.5"])
    assert.throws(() => withWorkers(wrong), /must be a number from 1 to 256, or auto/);
});
