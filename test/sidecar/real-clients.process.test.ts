import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { aSidecar, engines, goodKey } from "./bed.ts";

const run = promisify(execFile);
const tokens = ["one", "two", "three"];

/** Starts a model server; answers its port. */
async function aModelServer(t: TestContext): Promise<number> {
  const fixture = join(import.meta.dirname, "../fixtures/serves-completions");
  const server = spawn(process.execPath, [fixture], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => server.kill());
  const [said] = await once(server.stdout, "data");
  return Number(/\d+/.exec(String(said)));
}

const python = `
import http.client, json, sys, urllib.request, urllib.error
port, key = int(sys.argv[1]), sys.argv[2]
auth = {"Authorization": "Bearer " + key}
kept = http.client.HTTPConnection("127.0.0.1", port)
for body in [b"a" * 100000, iter([b"b" * 1000] * 50)]:
    kept.request("POST", "/echo", body=body, headers=auth, encode_chunked=True)
    print(len(kept.getresponse().read()))
kept.request("POST", "/echo", body=b"c" * 1000, headers={"Authorization": "Bearer wrong"})
print(kept.getresponse().status)
stream = urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", data=b"{}", headers=auth))
print("".join(json.loads(line[6:])["choices"][0]["delta"]["content"] for line in stream if line.startswith(b"data: {")))
try:
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/", data=b"x" * 2000000))
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
`;

for (const [name, engine] of Object.entries(engines)) {
  const start = async (t: TestContext) => {
    const bed = await aSidecar(t, engine, { upstreamPort: await aModelServer(t) });
    return bed.serving.address.port;
  };

  test(`${name}: curl sends and fetches`, async (t) => {
    const url = `http://127.0.0.1:${await start(t)}`;
    const auth = ["-s", "-H", `Authorization: Bearer ${goodKey}`];

    const echo = await run("curl", [...auth, "--data-binary", "x".repeat(5_000), `${url}/echo`]);
    const large = ["-H", "Expect: 100-continue", "-H", "Transfer-Encoding: chunked"];
    const chunked = await run("curl", [...auth, ...large, "-d", "abc", `${url}/echo`]);
    const head = await run("curl", [...auth, "-I", `${url}/echo`]);
    const refused = await run("curl", ["-s", "-w", " %{http_code}", url]);

    assert.equal(echo.stdout, "x".repeat(5_000));
    assert.equal(chunked.stdout, "abc");
    assert.match(head.stdout, /^HTTP\/1\.1 200 OK\r\n(.+\r\n)*x-method: HEAD\r\n/);
    assert.equal(refused.stdout, '{"error":"Unauthorized"} 401');
  });

  test(`${name}: curl shows a completion while it comes`, async (t) => {
    const url = `http://127.0.0.1:${await start(t)}/v1/chat/completions`;
    const auth = ["-H", `Authorization: Bearer ${goodKey}`];
    let pieces: string[] = [];
    // A machine that is busy may bring all at once, but not every time.
    for (let tries = 0; pieces.length < 2 && tries < 20; tries++) {
      const curl = spawn("curl", ["-sN", ...auth, "-d", '{"stream":true}', url]);
      pieces = [];
      for await (const piece of curl.stdout) pieces.push(String(piece));
    }

    assert.match(pieces[0] ?? "", /"content":"one"/);
    assert.doesNotMatch(pieces[0] ?? "", /DONE/);
    const told = pieces.join("").match(/"content":"\w+"|\[DONE\]/g);
    assert.deepEqual(told, [...tokens.map((token) => `"content":"${token}"`), "[DONE]"]);
  });

  test(`${name}: fetch streams a completion`, async (t) => {
    const url = `http://127.0.0.1:${await start(t)}/v1/chat/completions`;
    const headers = { authorization: `Bearer ${goodKey}` };

    const answer = await fetch(url, { method: "POST", headers, body: "{}" });
    const events: string[] = [];
    for await (const piece of answer.body ?? []) events.push(Buffer.from(piece).toString());

    assert.equal(events.join("").match(/"content":"(\w+)"/g)?.length, tokens.length);
    assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 401);
  });

  test(`${name}: Python's clients send, keep their connection, and stream`, async (t) => {
    const { stdout } = await run("python3", ["-c", python, String(await start(t)), goodKey]);

    const expected = [
      "100000",
      "50000",
      "401",
      tokens.join(""),
      '401 {"error":"Unauthorized"}',
      "",
    ];
    assert.deepEqual(stdout.split("\n"), expected);
  });

  test(`${name}: a WebSocket echoes`, async (t) => {
    const url = `ws://127.0.0.1:${await start(t)}/ws`;
    // The standard's client cannot send the header; Node.js's takes it as an option.
    const options = { headers: { authorization: `Bearer ${goodKey}` } };
    const socket = new WebSocket(url, options as never);
    await once(socket, "open");

    socket.send("hello");
    const [message] = await once(socket, "message");
    const refused = new WebSocket(url);
    await once(refused, "error");

    assert.equal(message.data, "hello");
    socket.close();
    await once(socket, "close");
  });
}
