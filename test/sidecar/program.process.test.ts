import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { httpProxyLimits } from "../../sidecar/forward/engines.ts";
import { findPort } from "../../sidecar/wrap.ts";
import { until } from "../helpers/agent.ts";
import { testedArgs } from "../helpers/tested.ts";
import { unreadPipe } from "../helpers/unread.ts";
import { ask, portOf, start } from "./program.ts";
import { dial, rawUpstream } from "./raw.ts";

const root = join(import.meta.dirname, "../..");

for (const engine of ["splice", "http-proxy"])
  test(`${engine}: the right key passes, a wrong one does not, and no key is ever logged`, async (t) => {
    const upstream = await rawUpstream(t);
    const args = ["--key-env", "K", "--upstream", `127.0.0.1:${upstream.port}`, "--engine", engine];
    const sidecar = start(t, args, { K: "very-secret" });
    const port = await portOf(sidecar);

    assert.match(await ask(t, port, "very-secret", "/a?token=hidden"), /^HTTP\/1\.1 200 /);
    assert.match(await ask(t, port, "wrong-secret"), /^HTTP\/1\.1 401 /);
    sidecar.process.kill("SIGTERM");

    assert.equal(await sidecar.exited, 0);
    const said = sidecar.lines.join("\n");
    const [passed = "", refused = ""] = sidecar.lines.filter((line) => line.includes('"request"'));
    assert.deepEqual(pick(passed), ["K", "GET", "/a", 200, "answered"]);
    assert.deepEqual(pick(refused), ["", "GET", "/", 401, "unauthorized"]);
    assert.doesNotMatch(said, /secret|hidden/);
  });

function pick(line: string): unknown[] {
  const { key, method, path, status, outcome } = JSON.parse(line);
  return [key, method, path, status, outcome];
}

test("it does not start without a key, an upstream, or with settings it does not know", async (t) => {
  const cases: [string[], Record<string, string>, number, RegExp][] = [
    [["--upstream", "127.0.0.1:1"], {}, 2, /no key is configured/],
    [["--key", "k"], {}, 2, /either --upstream HOST:PORT or -- COMMAND/],
    [["--key", "k", "--upstream", "nowhere"], {}, 2, /--upstream .* must be HOST:PORT/],
    [["--key", "k", "--fast"], {}, 2, /--fast/],
    [["--key", "k", "--upstream", "127.0.0.1:1", "--head-bytes", "0"], {}, 2, /above 0/],
    [["--key", "k", "--command-port", "70000", "--", "true"], {}, 2, /from 1 to 65535/],
    [["--key", "k", "--upstream", "127.0.0.1:1", "--command-port", "2"], {}, 2, /for a command/],
    [["--key", "k", "--upstream", "127.0.0.1:1", "--access-log", "/nowhere/a"], {}, 2, /ENOENT/],
    [["--key", "k"], { OUTRIGGER_SIDECAR_KEYS: "x" }, 2, /OUTRIGGER_SIDECAR_KEYS/],
  ];

  await Promise.all(
    cases.map(async ([args, env, code, message]) => {
      const sidecar = start(t, args, env);
      assert.equal(await sidecar.exited, code, args.join(" "));
      assert.match(sidecar.lines.join("\n"), message);
    }),
  );
});

test("a port that another sidecar listens on is refused", async (t) => {
  const where = ["--key", "k", "--upstream", "127.0.0.1:1", "--listen"];
  const port = await portOf(start(t, [...where, "127.0.0.1:0"]));
  const second = start(t, [...where, `127.0.0.1:${port}`]);

  assert.equal(await second.exited, 2);
  await second.line(`cannot listen on 127.0.0.1:${port}: EADDRINUSE`);
});

test("settings come from flags, variables and a file, in this order", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sidecar-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const upstream = await rawUpstream(t);
  const file = join(folder, "settings.json");
  const key = ["from-file"];
  writeFileSync(file, JSON.stringify({ key, upstream: "127.0.0.1:1", allowPath: ["/a", "/b"] }));
  const env = { OUTRIGGER_SIDECAR_UPSTREAM: "127.0.0.1:2", OUTRIGGER_SIDECAR_ALLOW_PATH: "/c /d" };
  const sidecar = start(t, ["--config", file, "--upstream", `127.0.0.1:${upstream.port}`], env);
  const port = await portOf(sidecar);

  const statusOf = async (path: string, given: string) =>
    (await ask(t, port, given, path)).slice(9, 12);
  assert.equal(await statusOf("/", "from-file"), "200");
  assert.equal(await statusOf("/d", "wrong"), "200");
  assert.equal(await statusOf("/a", "wrong"), "401");
});

test("SIGHUP reads the keys again and breaks no stream", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sidecar-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "keys");
  writeFileSync(file, "first id=a\n");
  const upstream = await rawUpstream(t);
  upstream.answer = (wire) => wire.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
  const sidecar = start(t, ["--key-file", file, "--upstream", `127.0.0.1:${upstream.port}`]);
  const port = await portOf(sidecar);
  const stream = dial(t, port);
  stream.send("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer first\r\n\r\n");
  await stream.until(() => stream.text.endsWith("ab"));

  writeFileSync(file, "second id=b\n");
  sidecar.process.kill("SIGHUP");
  await sidecar.line("keys read again");

  assert.match(await ask(t, port, "first"), /^HTTP\/1\.1 401 /);
  upstream.wires[0]?.send("cd");
  assert.match(await stream.answer(), /\r\n\r\nabcd$/);
});

test("requests go on while nobody reads the log, and its lines are dropped and counted", async (t) => {
  const upstream = await rawUpstream(t);
  const [port, monitorPort] = [await findPort(), await findPort()];
  const pipe = unreadPipe(t);
  const args = [
    ...["--listen", `127.0.0.1:${port}`, "--upstream", `127.0.0.1:${upstream.port}`],
    ...["--metrics", `127.0.0.1:${monitorPort}`, "--key", "k"],
  ];
  const sidecar = spawn(process.execPath, [...testedArgs("sidecar"), ...args], {
    stdio: ["ignore", "ignore", pipe.fd],
  });
  t.after(() => sidecar.kill("SIGKILL"));
  const exited = once(sidecar, "exit");
  const health = () => fetch(`http://127.0.0.1:${monitorPort}/healthz`).catch(() => undefined);
  await until(health);
  const dropped = async () => {
    const page = await ask(t, monitorPort, "", "/metrics");
    return Number(/^outrigger_sidecar_log_lines_dropped_total (\d+)$/m.exec(page)?.[1]);
  };
  const wire = dial(t, port);
  const path = `/${"a".repeat(4_000)}`;

  for (let asked = 0; asked < 500; asked += 1) {
    wire.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    assert.match(await wire.answer(), /^HTTP\/1\.1 401 /);
  }
  const unread = await dropped();
  assert.match(await ask(t, port, "k"), /^HTTP\/1\.1 200 /);
  let said = "";
  await until(() => {
    said += pipe.read();
    return said.includes("log lines dropped") || undefined;
  });
  pipe.fill();
  sidecar.kill("SIGTERM");

  assert.deepEqual(await exited, [0, null]);
  assert.ok(unread > 0);
  assert.match(said, /"dropped":[1-9]\d*,"msg":"log lines dropped"/);
});

test("metrics and health are told on an address of their own", async (t) => {
  const upstream = await rawUpstream(t);
  const monitor = ["--metrics", "127.0.0.1:0"];
  const args = ["--key", "k id=team-a", "--upstream", `127.0.0.1:${upstream.port}`, ...monitor];
  const sidecar = start(t, args);
  const port = await portOf(sidecar);
  const pages = JSON.parse(await sidecar.line('"listening"')).monitor.port;
  await ask(t, port, "k");
  await ask(t, port, "k");
  await ask(t, port, "wrong");

  const page = await ask(t, pages, "none", "/metrics");

  assert.match(page, /outrigger_sidecar_requests_total\{outcome="answered",key="team-a"\} 2\n/);
  assert.match(page, /outrigger_sidecar_requests_total\{outcome="unauthorized",key=""\} 1\n/);
  assert.match(page, /outrigger_sidecar_request_seconds_bucket\{le="\+Inf"\} 3\n/);
  assert.match(page, /outrigger_sidecar_open_requests 0\n/);
  assert.match(page, /outrigger_sidecar_keys 1\n/);
  const documented = readFileSync(join(root, "docs/sidecar.md"), "utf8");
  for (const [, name = ""] of page.matchAll(/^# TYPE (\w+)/gm))
    assert.match(documented, new RegExp(`\\b${name}\\b`));
  assert.match(await ask(t, pages, "none", "/healthz"), /\r\n\r\n\{"status":"ok"\}$/);
  assert.match(await ask(t, pages, "none", "/"), /^HTTP\/1\.1 404 /);
  assert.match(await ask(t, port, "k", "/metrics"), /\r\n\r\nok$/);
});

test("the example lets nobody in without the key, and leaves nothing behind", async () => {
  const env = { ...process.env, PORT: String(await findPort()) };
  const example = join(root, "examples/sidecar.sh");
  const { stdout } = await promisify(execFile)("sh", [example], { env });

  const [, refused = "", , passed = ""] = stdout.split("\n");
  assert.equal(refused, '{"error":"Unauthorized"} 401');
  assert.match(passed, /^# The smallest useful task/);
  await assert.rejects(fetch(`http://127.0.0.1:${env.PORT}`));
});

test("the help names every setting and what the second engine cannot do", async (t) => {
  const sidecar = start(t, ["--help"]);

  assert.equal(await sidecar.exited, 0);
  const said = sidecar.lines.join(" ").replace(/ +/g, " ");
  for (const limit of Object.values(httpProxyLimits)) assert.ok(said.includes(limit), limit);
  for (const flag of ["--listen", "--key-file", "--drain-seconds", "--trust-forwarded"])
    assert.ok(said.includes(` ${flag} `), flag);
  assert.ok(sidecar.lines.every((line) => line.length <= 80));
});
