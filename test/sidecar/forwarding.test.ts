import assert from "node:assert/strict";
import { test } from "node:test";
import { aSidecar, bearer, bodyOf, engines, plain } from "./bed.ts";
import { okAnswer, unchunk } from "./raw.ts";

/** Targets that reach the upstream byte for byte. */
const targets = ["//a//b", "/a/../b/./c", "/a%2Fb%00?c=%zz&d=;e", "/;a=b?c?d", '/"<>\\^`{|}', "/?"];
const forwarded =
  "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n";

for (const [name, engine] of Object.entries(engines)) {
  test(`${name}: a request with the key arrives as it was sent, and so does its answer`, async (t) => {
    const bed = await aSidecar(t, engine);
    const sent = "HTTP/1.1 200 Very Well\r\nx-B: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-A:\r\n";
    bed.upstream.answer = (wire) => wire.send(`${sent}Content-Length: 2\r\n\r\nok`);

    const lines = "X-b: 1\r\nX-b: 2\r\nx-C: 3\r\nContent-Length: 3\r\n";
    const answer = await bed.ask("POST /v1/chat?x=1 HTTP/1.1", lines, "abc");

    const expected = `POST /v1/chat?x=1 HTTP/1.1\r\nHost: a\r\n${bearer}${lines}${forwarded}\r\nabc`;
    assert.equal(plain(bed.upstream.requests[0]), expected);
    assert.equal(plain(answer).replace("X-A: \r", "X-A:\r"), `${sent}Content-Length: 2\r\n\r\nok`);
  });

  test(`${name}: the bytes of a target are not touched`, async (t) => {
    const bed = await aSidecar(t, engine);

    for (const target of targets) {
      await bed.ask(`GET ${target} HTTP/1.1`);

      assert.equal(bed.upstream.requests.at(-1)?.split("\r\n")[0], `GET ${target} HTTP/1.1`);
    }
  });

  test(`${name}: a target that is a whole URL goes as its path, with its host`, async (t) => {
    const bed = await aSidecar(t, engine);

    await bed.ask("GET HTTP://b:80//c?d HTTP/1.1");

    const request = plain(bed.upstream.requests[0]);
    assert.match(request, /^GET \/\/c\?d HTTP\/1\.1\r\n/);
    assert.deepEqual(request.match(/^host: .*$/gim), ["Host: b:80"]);
    assert.match(request, /\r\nX-Forwarded-Host: b:80\r\n/);
  });

  test(`${name}: hosts are names or addresses, with a port or without`, async (t) => {
    const bed = await aSidecar(t, engine);

    for (const host of ["a", "a-b.c_d~:80", "127.0.0.1:1", "[::1]", "[::ffff:1.2.3.4]:80", "a:"]) {
      await bed.ask(`GET http://${host}/c HTTP/1.1`);

      assert.match(bed.upstream.requests.at(-1) ?? "", /^GET \/c HTTP/);
      assert.ok(bed.upstream.requests.at(-1)?.includes(`\r\nHost: ${host}\r\n`), host);
    }
  });

  test(`${name}: bytes above 0x7e in values, and Trailer without chunks, do no harm`, async (t) => {
    const bed = await aSidecar(t, engine);
    const sent = "HTTP/1.1 200 \xe4\xff\r\nX-A: \xe4\r\nX-B: 1\r\nX-B: 2\r\n";
    bed.upstream.answer = (wire) => wire.send(`${sent}Trailer: X-T\r\nContent-Length: 2\r\n\r\nok`);

    const answer = await bed.ask("GET / HTTP/1.1", "X-A: \xe4\r\nTrailer: X-T\r\n");

    assert.match(bed.upstream.requests[0] ?? "", /\r\nX-A: \xe4\r\n/);
    const expected = `${sent}Content-Length: 2\r\n\r\nok`;
    assert.equal(plain(answer).replace("Trailer: X-T\r\n", ""), expected);
  });

  test(`${name}: logins to control that a browser sends along are covered, other cookies pass`, async (t) => {
    const bed = await aSidecar(t, engine);
    const cookies = (session: string, login: string) =>
      `Cookie: a=1; outrigger_session=${session}; b=outrigger_session=2;outrigger_login=${login}\r\n` +
      `cookie: outrigger_session=${session}\r\n`;

    await bed.ask("GET / HTTP/1.1", cookies("Sec-ret_1", "s3"));

    const request = bed.upstream.requests[0] ?? "";
    assert.doesNotMatch(request, /Sec-ret_1|=s3/);
    const lines = request
      .match(/^cookie: .*$/gim)
      ?.join("; ")
      .replaceAll(/cookie: /gi, "");
    assert.equal(
      lines,
      "a=1; outrigger_session=xxxxxxxxx; b=outrigger_session=2;outrigger_login=xx; outrigger_session=xxxxxxxxx",
    );
  });

  test(`${name}: OPTIONS may ask for everything`, async (t) => {
    const bed = await aSidecar(t, engine);

    await bed.ask("OPTIONS * HTTP/1.1");

    assert.match(bed.upstream.requests[0] ?? "", /^OPTIONS \* HTTP\/1\.1\r\n/);
  });

  test(`${name}: a DELETE keeps its body`, async (t) => {
    const bed = await aSidecar(t, engine);

    await bed.ask("DELETE /a HTTP/1.1", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n");
    await bed.ask("DELETE /b HTTP/1.1", "Content-Length: 3\r\n", "abc");
    await bed.ask("DELETE /c HTTP/1.1");

    const [chunked = "", sized = "", none = ""] = bed.upstream.requests;
    assert.equal(bodyOf(chunked), "3\r\nabc\r\n0\r\n\r\n");
    assert.doesNotMatch(chunked, /content-length/i);
    assert.equal(bodyOf(sized), "abc");
    assert.doesNotMatch(none, /content-length: [1-9]/i);
  });

  test(`${name}: what is for one hop goes no further, in both directions`, async (t) => {
    const bed = await aSidecar(t, engine);
    const hops =
      "Connection: x-one, Keep-Alive\r\nKeep-Alive: timeout=5\r\nProxy-Connection: a\r\n" +
      "TE: trailers\r\nUpgrade: h2c\r\nX-One: 1\r\nX-Two: 2\r\n";
    bed.upstream.answer = (wire) =>
      wire.send(`HTTP/1.1 200 OK\r\n${hops}Proxy-Authenticate: a\r\nContent-Length: 0\r\n\r\n`);

    const answer = await bed.ask("GET / HTTP/1.1", `${hops}HTTP2-Settings: AAA\r\n`);

    const expected = `GET / HTTP/1.1\r\nHost: a\r\n${bearer}X-Two: 2\r\n${forwarded}\r\n`;
    assert.equal(plain(bed.upstream.requests[0]), expected);
    assert.equal(plain(answer), "HTTP/1.1 200 OK\r\nX-Two: 2\r\nContent-Length: 0\r\n\r\n");
  });

  test(`${name}: what a client says of itself is believed only if that is wanted`, async (t) => {
    const said = "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Host: evil\r\nForwarded: for=9.9.9.9\r\n";
    const strict = await aSidecar(t, engine);
    const trusting = await aSidecar(t, engine, { trustForwarded: true });

    await strict.ask("GET / HTTP/1.1", said);
    await trusting.ask("GET / HTTP/1.1", said);

    assert.doesNotMatch(strict.upstream.requests[0] ?? "", /9\.9\.9\.9|evil/);
    assert.match(
      trusting.upstream.requests[0] ?? "",
      /For: 9\.9\.9\.9\r\n(.*\r\n)*X-Forwarded-For: 127\.0\.0\.1\r\n/,
    );
  });

  test(`${name}: what a client says of itself in another spelling is believed by nobody`, async (t) => {
    const spellings = [
      ...["X_Forwarded_For", "X-Forwarded_Proto", "x.forwarded.host", "X-FORWARDED-PORT"],
      ...["X-Forwarded-User", "X-Real-IP", "X_Real_IP", "True-Client-IP", "Content_Length"],
      ...["Transfer_Encoding", "Proxy_Authorization", "X-Original-URL"],
    ];
    const said = spellings.map((spelling) => `${spelling}: 9.9.9.9\r\n`).join("");
    const kept = "X_Own: 1\r\nX-Forward: 2\r\napi_key: 3\r\n";
    const strict = await aSidecar(t, engine);
    const trusting = await aSidecar(t, engine, { trustForwarded: true });

    await strict.ask("GET / HTTP/1.1", said + kept);
    await trusting.ask("GET / HTTP/1.1", said + kept);

    const expected = `GET / HTTP/1.1\r\nHost: a\r\n${bearer}${kept}${forwarded}\r\n`;
    assert.equal(plain(strict.upstream.requests[0]), expected);
    const trusted = trusting.upstream.requests[0] ?? "";
    assert.doesNotMatch(
      trusted,
      /^[^:\r\n]*(forwarded|real|length|encoding)[^:]*[_.]|[_.](ip|for)/im,
    );
    assert.match(trusted, /^X-Real-IP: 9\.9\.9\.9\r\n/m);
  });

  test(`${name}: the key stays here if that is wanted`, async (t) => {
    const bed = await aSidecar(t, engine, { stripAuthorization: true });

    await bed.ask("GET / HTTP/1.1", "X-A: b\r\n");

    assert.doesNotMatch(bed.upstream.requests[0] ?? "", /authorization/i);
    assert.match(bed.upstream.requests[0] ?? "", /X-A: b/);
  });

  test(`${name}: an open path needs no key, as it is written and to be read`, async (t) => {
    const bed = await aSidecar(t, engine, { allowPath: ["/health"] });
    const statusOf = async (requestLine: string, lines = "") => {
      const wire = bed.dial();
      wire.send(`${requestLine} HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
      return (await wire.answer(requestLine.startsWith("HEAD"))).slice(9, 12);
    };

    assert.equal(await statusOf("GET /health"), "200");
    assert.equal(await statusOf("GET /health?deep=1"), "200");
    assert.equal(await statusOf("GET /health", "Authorization: Bearer wrong\r\n"), "200");
    assert.equal(await statusOf("HEAD /health"), "200");
    for (const line of [
      "POST /health",
      "GET /health/",
      "GET //health",
      "GET /Health",
      "GET /healthz",
    ])
      assert.equal(await statusOf(line), "401", line);
    assert.equal(await statusOf("GET /v1/../health"), "401");
    assert.equal(bed.upstream.requests.length, 4);
  });

  test(`${name}: pipelined requests are answered in their order, each by its own key`, async (t) => {
    const bed = await aSidecar(t, engine);
    const wire = bed.dial();

    const good = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n${bearer}\r\n`;
    wire.send(`${good("/1")}GET /2 HTTP/1.1\r\nHost: a\r\n\r\n${good("/3")}`);

    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await wire.answer()).slice(9, 12));
    assert.deepEqual(statuses, ["200", "401", "200"]);
    assert.deepEqual(
      bed.upstream.requests.map((request) => request.split(" ")[1]),
      ["/1", "/3"],
    );
  });

  test(`${name}: heads and bodies may come in any pieces`, async (t) => {
    const bed = await aSidecar(t, engine);
    const wire = bed.dial();
    const chunked = "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n";
    const sized = "Content-Length: 3\r\n\r\nabc";

    for (const rest of [chunked, sized]) {
      for (const one of `\r\nPOST / HTTP/1.1\r\nHost: a\r\n${bearer}${rest}`) {
        wire.send(one);
        await new Promise(setImmediate);
      }
      assert.match(await wire.answer(), /^HTTP\/1\.1 200 /);
    }

    const [first = "", second = ""] = bed.upstream.requests.map(bodyOf);
    assert.deepEqual(unchunk(first), { text: "abc", trailers: "X-T: 1\r\n\r\n" });
    assert.equal(second, "abc");
  });

  test(`${name}: answers may come in any pieces`, async (t) => {
    const bed = await aSidecar(t, engine);
    bed.upstream.answer = async (wire) => {
      for (const one of okAnswer) {
        wire.send(one);
        await new Promise(setImmediate);
      }
    };

    assert.equal(plain(await bed.ask("GET / HTTP/1.1")), okAnswer);
  });

  test(`${name}: a client of HTTP/1.0 gets its answer and the end`, async (t) => {
    const bed = await aSidecar(t, engine);
    const wire = bed.dial();

    wire.send(`GET / HTTP/1.0\r\nHost: a\r\n${bearer}Connection: keep-alive\r\n\r\n`);

    assert.match(await wire.end(), /^HTTP\/1\.1 200 OK\r\n(.+\r\n)*connection: close\r\n\r\nok$/i);
  });
}

test("splice: methods and bytes that nobody knows are passed on", async (t) => {
  const bed = await aSidecar(t);

  await bed.ask("BREW /\xff\xc3\xa4 HTTP/1.1");

  assert.match(bed.upstream.requests[0] ?? "", /^BREW \/\xff\xc3\xa4 HTTP\/1\.1\r\n/);
});

test("http-proxy: methods and bytes that Node.js does not know are answered 501", async (t) => {
  const bed = await aSidecar(t, engines["http-proxy"]);

  assert.match(await bed.ask("BREW / HTTP/1.1"), /^HTTP\/1\.1 501 /);
  assert.match(await bed.ask("GET /\xff HTTP/1.1"), /^HTTP\/1\.1 501 /);
});
