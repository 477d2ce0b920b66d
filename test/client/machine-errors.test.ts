import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import * as z from "zod";
import { commands } from "../../client/catalog.ts";
import type { ErrorOutput } from "../../client/output/error.ts";
import { commandLine, type Outcome, wordsOf } from "./command-line.ts";
import { type Ending, fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";

const root = join(import.meta.dirname, "../..");
const schema = z.fromJSONSchema(
  JSON.parse(readFileSync(join(root, "docs/schemas/error.json"), "utf8")),
);

/** A line of each command that asks the control plane. */
const asking = [
  "launch -c dev -d true",
  "exec dev -d true",
  "shell dev -- true",
  "status dev",
  "start dev",
  "stop dev",
  "down dev",
  "autostop dev",
  "queue dev",
  "logs dev 1",
  "download dev:results",
  "preempt dev",
  "cancel dev 1",
  "events dev",
  "explain dev",
  "cost-report",
  "check",
  "gpus status",
  "gpus list",
  "recipes list",
  "recipes show sweep",
  "recipes create sweep chat.yaml",
  "recipes update sweep --description x",
  "recipes delete -y sweep",
  "recipes pin sweep",
  "recipes unpin sweep",
  "ssh up lab",
  "ssh down lab",
  "ssh forget lab",
  "ssh status",
  "ssh keys",
  "jobs launch -d true",
  "jobs queue",
  "jobs logs 3",
  "jobs events 3",
  "jobs download 3",
  "jobs wait 3",
  "jobs cancel 3",
  "jobs map -p warm --inputs chat.yaml --results answers.jsonl chat.yaml",
  "jobs pool apply -p warm --workers 2",
  "jobs pool status",
  "jobs pool logs warm",
  "jobs pool down warm",
  "serve up chat.yaml",
  "serve update chat chat.yaml",
  "serve status",
  "serve logs chat 1",
  "serve down chat",
  "storage ls",
  "storage delete -y set",
  "volumes ls",
  "volumes apply recipes:data",
  "volumes delete -y data",
  "secrets list",
  "secrets set KEY -f chat.yaml",
  "secrets rm KEY",
  "workspaces list",
  "workspaces create lab",
  "workspaces update lab --private",
  "workspaces delete lab",
  "workspaces use lab",
  "api config",
  "api orphans",
  "audit",
  "api info",
  "api status",
  "api logs 1234",
  "api cancel 1234",
  "whoami",
  "users list",
  "users create ana --password-stdin",
  "users update ana --role user",
  "users delete -y ana",
  "users import -",
  "users export",
  "tokens list",
  "tokens create ci",
  "tokens rotate -y ci",
  "tokens role ci",
  "tokens delete -y ci",
];

/** Commands that look at this machine alone, or read their words themselves. */
const local = new Set([
  ...["agent install", "agent uninstall", "sidecar", "api start", "api stop", "api restore"],
  ...["context add", "context use", "context list", "context remove", "config show"],
  ...["completion", "complete", "version", "doctor"],
  // A variable names the control plane here, and a login is of a context.
  ...["login", "logout"],
  ...["context add", "context use", "context list", "context remove", "config show"],
]);

test("each command is either tried here, or asks no control plane", () => {
  const tried = (name: string) => asking.some((line) => `${line} `.startsWith(`${name} `));
  assert.deepEqual(
    commands.filter(({ name }) => tried(name) === local.has(name)),
    [],
  );
});

/** The error of an outcome, which must be valid and alone on the last line. */
function errorOf({ code, stdout, stderr }: Outcome, line: string): ErrorOutput["error"] {
  const last = stderr.trimEnd().split("\n").at(-1) ?? "";
  assert.match(last, /^\{/, `${line}: ${stderr}`);
  const { error } = schema.parse(JSON.parse(last)) as ErrorOutput;
  assert.equal(error.exit_code, code, line);
  assert.equal(stdout, "", line);
  return error;
}

const everyRoute = (answer: Handler | Ending): Routes => new Proxy({}, { get: () => answer });

const page: Handler = (_seen, res) =>
  void res.writeHead(200, { "content-type": "text/html" }).end("<!DOCTYPE html><p>Welcome");
const denied: Handler = (_seen, res) => sendJson(res, 401, { detail: "who are you?" });
const failing = { error: { type: "ConflictError", message: "not now" } };
const failed: Handler = (_seen, res) => {
  res.setHeader("x-skypilot-request-id", "r-1");
  const record = { request_id: "r-1", status: "FAILED", error: JSON.stringify(failing.error) };
  sendJson(res, 500, { detail: record });
};

interface Failure {
  readonly routes: Routes;
  readonly code: ErrorOutput["error"]["code"];
  readonly requestId: string | null;
  readonly message: RegExp;
}

/** What may go wrong with every one of them. */
const failures: Readonly<Record<string, Failure>> = {
  "a web page": {
    routes: everyRoute(page),
    ...{ code: "ConfigError", requestId: null },
    message:
      /^there is no control plane at \S+: another program answered 200 and a web page; [^<]+$/,
  },
  "a missing token": {
    routes: everyRoute(denied),
    ...{ code: "AuthenticationError", requestId: null, message: /^who are you\?$/ },
  },
  "a request that failed": {
    routes: everyRoute(failed),
    ...{ code: "ConflictError", requestId: "r-1", message: /^not now$/ },
  },
};

async function lineAt(t: TestContext, endpoint: string) {
  const outrigger = await commandLine(t, endpoint);
  const service =
    "service: {replicas: 1, readiness_probe: /}\nresources: {ports: 80}\nrun: serve\n";
  await writeFile(join(outrigger.folder, "chat.yaml"), service);
  return (line: string) => outrigger(withJson(line));
}

/** The words with `-o json` before those that are another command's. */
const withJson = (line: string): string[] => {
  const [own = "", other] = line.split(" -- ");
  return [...wordsOf(own), "-o", "json", ...(other ? ["--", ...wordsOf(other)] : [])];
};

for (const [name, { routes, code, requestId, message }] of Object.entries(failures))
  test(`every command tells of ${name} as JSON on stderr`, async (t) => {
    const control = await fakeControl(t, routes);
    const run = await lineAt(t, control.endpoint);

    for (const line of asking) {
      const error = errorOf(await run(line), line);

      assert.equal(error.code, code, line);
      if (!line.startsWith("shell")) assert.match(error.message, message, line);
      assert.equal(error.request_id, requestId, line);
    }
  });

test("every command tells of a control plane that is not there", async (t) => {
  const run = await lineAt(t, "http://127.0.0.1:1");

  // Each asks again for a moment.
  await Promise.all(
    asking.map(async (line) => {
      const error = errorOf(await run(line), line);
      const { code, exit_code, retryable } = error;

      assert.deepEqual([code, exit_code, retryable], ["UnreachableError", 7, true]);
      assert.match(error.hint ?? "", /outrigger doctor/);
    }),
  );
});

test("every command tells of options that it does not have", async (t) => {
  const run = await lineAt(t, "http://127.0.0.1:1");

  for (const { name, readsItself } of commands)
    if (!readsItself) {
      const error = errorOf(await run(`${name} --no-such-option`), name);
      assert.deepEqual(
        [error.code, error.message],
        ["UsageError", "unknown option '--no-such-option'"],
      );
    }
});

/** Lines that are refused before anything is asked, with what is said and hinted. */
const refused: readonly [string, RegExp, RegExp][] = [
  ["statsu", /^unknown command 'statsu'$/, /^Did you mean status\?$/],
  ["ls", /^unknown command 'ls'; try outrigger status: List clusters/, /^outrigger status: /],
  ["api", /^unknown option '-o'$/, /outrigger/],
];

for (const [line, message, hint] of refused)
  test(`\`outrigger ${line}\` is refused with a hint`, async (t) => {
    const run = await lineAt(t, "http://127.0.0.1:1");
    const error = errorOf(await run(line), line);

    assert.equal(error.exit_code, 2);
    assert.match(error.message, message);
    assert.match(error.hint ?? "", hint);
  });

for (const word of ["ls", "ps", "run", "up"])
  test(`\`outrigger ${word}\` names the command that is meant`, async (t) => {
    const outrigger = await commandLine(t, "http://127.0.0.1:1");
    const { code, stderr } = await outrigger([word]);

    assert.equal(code, 2);
    assert.match(
      stderr,
      new RegExp(`^error: unknown command '${word}'; try outrigger [a-z]+.*\n$`),
    );
  });

test("an answer that is no HTTP is told of in one sentence", async (t) => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.end("SSH-2.0-OpenSSH_9.6\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const outrigger = await commandLine(t, `http://127.0.0.1:${port}`);

  const { code, stderr } = await outrigger(["status"]);

  assert.equal(code, 2);
  assert.match(stderr, /^error: there is no control plane at \S+: another program answered .*\n$/);
});
