import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  findProcess,
  isAlive,
  listProcesses,
  type ProcessStat,
} from "../../common/process-tree.ts";
import { findPort } from "../../sidecar/wrap.ts";
import { until } from "../helpers/agent.ts";
import { mainOf } from "../helpers/tested.ts";
import { ask, portOf, start } from "./program.ts";

const fixture = (name: string) => join(import.meta.dirname, "../fixtures", name);
const server = fixture("serves-port");

test("a command serves behind it, and its exit code is the sidecar's", async (t) => {
  const sidecar = start(t, ["--key", "k", "--", process.execPath, server, "{port}"]);
  const port = await portOf(sidecar);
  await sidecar.line("serving on");

  assert.match(await ask(t, port, "k", "/hello"), /\r\n\r\nGET \/hello$/);
  assert.match(await ask(t, port, "wrong"), /^HTTP\/1\.1 401 /);
  assert.equal(
    await sidecar.line("port is "),
    `port is ${JSON.parse(await sidecar.line('"listening"')).upstream.port}`,
  );
  sidecar.process.kill("SIGUSR2");
  await sidecar.line("got SIGUSR2");
  sidecar.process.kill("SIGTERM");

  await sidecar.line("got SIGTERM");
  assert.equal(await sidecar.exited, 42);
});

test("a command gets the port that is asked for, and says itself when it is taken", async (t) => {
  const commandPort = await findPort();
  const args = ["--key", "k", "--command-port", String(commandPort)];
  const command = ["--", process.execPath, server, "{port}"];
  const sidecar = start(t, [...args, ...command]);
  const port = await portOf(sidecar);
  await sidecar.line(`serving on ${commandPort}`);
  const second = start(t, [...args, ...command]);

  assert.match(await ask(t, port, "k", "/hello"), /\r\n\r\nGET \/hello$/);
  assert.equal(await second.exited, 1);
  await second.line("EADDRINUSE", String(commandPort));
  sidecar.process.kill("SIGTERM");
  assert.equal(await sidecar.exited, 42);
});

test("what is under way is answered before the command is told to end", async (t) => {
  const sidecar = start(t, ["--key", "k", "--", process.execPath, server, "{port}"]);
  const port = await portOf(sidecar);
  await sidecar.line("serving on");
  const answer = ask(t, port, "k", "/slow");
  await sidecar.line("slow began");

  sidecar.process.kill("SIGTERM");

  assert.match(await answer, /\r\n\r\nGET \/slow$/);
  assert.equal(await sidecar.exited, 42);
  const [ended, told] = ["slow ended", "got SIGTERM"].map((line) => sidecar.lines.indexOf(line));
  assert.ok((ended ?? -1) < (told ?? -1));
});

test("a command that does not end is killed, with what has left its group and session", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sidecar-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [pidFile, ready] = [join(folder, "pid"), join(folder, "ready")];
  const script = `'${fixture("detaches")}' '${pidFile}'; exec '${fixture("ignores-term")}' '${ready}'`;
  const args = ["--key", "k", "--drain-seconds", "0.05", "--", "bash", "-c", script];
  const sidecar = start(t, args);
  while (!existsSync(pidFile) || !existsSync(ready)) await new Promise(setImmediate);
  const pid = Number(readFileSync(pidFile, "utf8"));
  t.after(() => findProcess(pid) && process.kill(pid, "SIGKILL"));

  sidecar.process.kill("SIGTERM");

  assert.equal(await sidecar.exited, 137);
  await sidecar.line("is killed");
  assert.notEqual(findProcess(pid)?.alive, true);
});

test("a command ends with a sidecar that is killed, and so does what has left its session", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sidecar-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const pidFile = join(folder, "pid");
  const script = `'${fixture("detaches")}' '${pidFile}'; exec '${server}' "$PORT"`;
  const sidecar = start(t, ["--key", "k", "--drain-seconds", "60", "--", "bash", "-c", script]);
  await sidecar.line("serving on");
  while (!existsSync(pidFile)) await new Promise(setImmediate);
  const pid = Number(readFileSync(pidFile, "utf8"));

  sidecar.process.kill("SIGKILL");

  await sidecar.line("got SIGTERM");
  await sidecar.exited;
  await until(() => findProcess(pid)?.alive !== true || undefined);
});

for (const [what, name, command] of [
  ["ignores TERM", "ignores-term", [fixture("ignores-term"), "/dev/null"]],
  ["has lost its environment", "sleep", ["env", "-i", "sleep", "1000"]],
] as const)
  test(`a command that ${what} ends with a sidecar that is killed`, async (t) => {
    const sidecar = start(t, ["--key", "k", "--drain-seconds", "0.3", "--", ...command]);
    await portOf(sidecar);
    const isCommand = (one: ProcessStat) => one.parent === sidecar.process.pid && one.name === name;
    const found = await until(() => listProcesses().find(isCommand));

    sidecar.process.kill("SIGKILL");

    await until(() => !isAlive(found) || undefined);
  });

test("the command line becomes the sidecar, with every word and every signal", async (t) => {
  const line = mainOf("outrigger");
  const words = ["--listen", "127.0.0.1:0", "--key", "k", "--", process.execPath, server, "{port}"];
  const sidecar = start(t, words, {}, [line, "sidecar"]);
  const port = await portOf(sidecar);
  await sidecar.line("serving on");

  assert.match(await ask(t, port, "k", "/hello"), /\r\n\r\nGET \/hello$/);
  sidecar.process.kill("SIGTERM");

  assert.equal(await sidecar.exited, 42);
  const help = start(t, ["--help"], {}, [line, "sidecar"]);
  assert.equal(await help.exited, 0);
  assert.match(help.lines.join("\n"), /^usage: outrigger sidecar --listen/);
});

test("a command that ends by itself ends the sidecar; one that is not there is told", async (t) => {
  const ends = start(t, ["--key", "k", "--", process.execPath, "-e", "process.exit(7)"]);
  const dies = start(t, [
    "--key",
    "k",
    "--",
    process.execPath,
    "-e",
    "process.kill(process.pid, 9)",
  ]);
  const missing = start(t, ["--key", "k", "--", "/no/such/command"]);

  assert.deepEqual(await Promise.all([ends.exited, dies.exited, missing.exited]), [7, 137, 127]);
  assert.match(missing.lines.join("\n"), /no\/such\/command: command not found/);
});
