import assert from "node:assert/strict";
import { test } from "node:test";
import { aSidecar, bearer, engines, goodKey } from "./bed.ts";

const unauthorized = '{"error":"Unauthorized"}';

/** Authorization lines that open nothing. */
const wrongKeys = {
  none: "",
  wrong: "Authorization: Bearer other-key\r\n",
  empty: "Authorization:\r\n",
  "scheme alone": "Authorization: Bearer\r\n",
  "scheme and blanks": "Authorization: Bearer  \r\n",
  "another scheme": `Authorization: Basic ${goodKey}\r\n`,
  "no scheme": `Authorization: ${goodKey}\r\n`,
  "two blanks": `Authorization: Bearer  ${goodKey}\r\n`,
  "a tab": `Authorization: Bearer\t${goodKey}\r\n`,
  "another case": `Authorization: Bearer ${goodKey.toUpperCase()}\r\n`,
  "a beginning": `Authorization: Bearer ${goodKey.slice(0, -1)}\r\n`,
  "more than the key": `Authorization: Bearer ${goodKey}x\r\n`,
  "in a list": `Authorization: Bearer ${goodKey}, Bearer x\r\n`,
  "under another name": `X-Authorization: Bearer ${goodKey}\r\n`,
  "of a proxy": `Proxy-Authorization: Bearer ${goodKey}\r\n`,
};

/** What comes after `Host: a` and the right key, and the status that it gets. */
const refused: Readonly<Record<string, [head: string, status?: number]>> = {
  "two keys, good first": [`POST / HTTP/1.1\r\nHost: a\r\n${bearer}Authorization: Bearer x\r\n`],
  "two keys, good last": [`POST / HTTP/1.1\r\nHost: a\r\nauthorization: Bearer x\r\n${bearer}`],
  "the same key twice": [`POST / HTTP/1.1\r\nHost: a\r\n${bearer}${bearer}`],
  "length and coding": [lines("Content-Length: 3", "Transfer-Encoding: chunked")],
  "coding and length": [lines("Transfer-Encoding: chunked", "Content-Length: 3")],
  "two lengths": [lines("Content-Length: 3", "Content-Length: 4")],
  "two equal lengths": [lines("Content-Length: 3", "Content-Length: 3")],
  "length with sign": [lines("Content-Length: +5")],
  "negative length": [lines("Content-Length: -5")],
  "length with blank": [lines("Content-Length: 1 2")],
  "list of lengths": [lines("Content-Length: 5, 5")],
  "hexadecimal length": [lines("Content-Length: 0x5")],
  "octal length": [lines("Content-Length: 05")],
  "empty length": [lines("Content-Length:")],
  "endless length": [lines(`Content-Length: ${"9".repeat(20)}`)],
  "another coding": [lines("Transfer-Encoding: gzip")],
  "two codings": [lines("Transfer-Encoding: gzip, chunked")],
  "chunked twice": [lines("Transfer-Encoding: chunked, chunked")],
  "two coding lines": [lines("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")],
  identity: [lines("Transfer-Encoding: identity")],
  "chunked after VT": [lines("Transfer-Encoding: \vchunked")],
  "nearly chunked": [lines("Transfer-Encoding: xchunked")],
  "quoted chunked": [lines('Transfer-Encoding: "chunked"')],
  "empty coding": [lines("Transfer-Encoding:")],
  "chunked for HTTP/1.0": [`POST / HTTP/1.0\r\nHost: a\r\n${bearer}Transfer-Encoding: chunked\r\n`],
  "blank before colon": [lines("X-A : b")],
  "tab before colon": [lines("Content-Length\t: 3")],
  "blank before name": [lines(" X-A: b")],
  "folded line": [lines("X-A: b\r\n c")],
  "folded key": [`GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer\r\n ${goodKey}\r\n`],
  "no colon": [lines("X-A")],
  "no name": [lines(": b")],
  "bare LF after a header": [lines("X-A: b\nX-B: c")],
  "bare LF after the request line": [`GET / HTTP/1.1\nHost: a\r\n${bearer}`],
  "bare LF at the end": [`GET / HTTP/1.1\r\nHost: a\r\n${bearer}\n`],
  "bare CR in a value": [lines("X-A: b\rc")],
  "CR CR LF": [lines("X-A: b\r")],
  "NUL in a value": [lines("X-A: b\0c")],
  "NUL in a name": [lines("X\0A: b")],
  "control in a value": [lines("X-A: \x01")],
  "DEL in a value": [lines("X-A: \x7f")],
  "8 bit in a name": [lines("X-\xe4: b")],
  "no Host": [`GET / HTTP/1.1\r\n${bearer}`],
  "no Host for HTTP/1.0": [`GET / HTTP/1.0\r\n${bearer}`],
  "two Hosts": [lines("Host: b")],
  "empty Host": [`GET / HTTP/1.1\r\nHost:\r\n${bearer}`],
  "Host with user": [`GET / HTTP/1.1\r\nHost: a@b\r\n${bearer}`],
  "Host with path": [`GET / HTTP/1.1\r\nHost: a/b\r\n${bearer}`],
  "two names in Host": [`GET / HTTP/1.1\r\nHost: a, b\r\n${bearer}`],
  "Host without name": [`GET / HTTP/1.1\r\nHost: :80\r\n${bearer}`],
  "Host with two ports": [`GET / HTTP/1.1\r\nHost: a:80:81\r\n${bearer}`],
  "Host with a word as port": [`GET / HTTP/1.1\r\nHost: a:b\r\n${bearer}`],
  "Host with an open bracket": [`GET / HTTP/1.1\r\nHost: [::1\r\n${bearer}`],
  "Host with more after brackets": [`GET / HTTP/1.1\r\nHost: [::1]a\r\n${bearer}`],
  "Host with empty brackets": [`GET / HTTP/1.1\r\nHost: []\r\n${bearer}`],
  "Connection names Host": [lines("Connection: host")],
  "Connection names the length": [lines("Connection: close, Content-Length", "Content-Length: 3")],
  "Connection names the coding": [lines("Connection: transfer-encoding")],
  "Connection names the key": [lines("Connection: Authorization")],
  CONNECT: [`CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n${bearer}`, 405],
  "CONNECT of a path": [`CONNECT / HTTP/1.1\r\nHost: a\r\n${bearer}`, 405],
  "no target": [`GET  HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "a blank in the target": [`GET /a b HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "a fragment": [`GET /a#b HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "a tab after the method": [`GET\t/ HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "a relative target": [`GET a HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "a star for GET": [`GET * HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "URL without host": [`GET http:///a HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "URL without path": [`GET http://a HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "URL with port alone": [`GET http://:80/a HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "URL with query alone": [`GET http://a?b/c HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "URL with user": [`GET http://u@a/ HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "URL of another scheme": [`GET ftp://a/ HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "no method": [` / HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "a method with a slash": [`GE/T / HTTP/1.1\r\nHost: a\r\n${bearer}`],
  "HTTP/0.9": ["GET /\r\n"],
  "HTTP/1.2": [`GET / HTTP/1.2\r\nHost: a\r\n${bearer}`],
  "HTTP/2.0": [`GET / HTTP/2.0\r\nHost: a\r\n${bearer}`],
  "HTTP/11": [`GET / HTTP/11\r\nHost: a\r\n${bearer}`],
  "http/1.1": [`GET / http/1.1\r\nHost: a\r\n${bearer}`],
  "the preface of HTTP/2": ["PRI * HTTP/2.0\r\n\r\nSM\r\n"],
  "a TLS hello": ["\x16\x03\x01\x02\x00\x01\x00"],
  "a head that is too large": [lines(`X-A: ${"a".repeat(17_000)}`), 431],
  "too many headers": [lines(...Array<string>(101).fill("X-A: b")), 431],
};

/** Bodies of `Transfer-Encoding: chunked` that cannot be read. */
const badChunks = {
  "no hexadecimal size": "xyz\r\nabc\r\n0\r\n\r\n",
  "size with sign": "+3\r\nabc\r\n0\r\n\r\n",
  "size with prefix": "0x3\r\nabc\r\n0\r\n\r\n",
  "size with blank": "3 \r\nabc\r\n0\r\n\r\n",
  "blank before size": " 3\r\nabc\r\n0\r\n\r\n",
  "empty size": "\r\nabc\r\n0\r\n\r\n",
  "endless size": "fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
  "bare LF after size": "3\nabc\r\n0\r\n\r\n",
  "bare CR after size": "3\rabc\r\n0\r\n\r\n",
  "bare LF in extension": "3;a\nabc\r\n0\r\n\r\n",
  "NUL in extension": "3;a\0\r\nabc\r\n0\r\n\r\n",
  "extension without name": "3;=a\r\nabc\r\n0\r\n\r\n",
  "empty extension": "3;\r\nabc\r\n0\r\n\r\n",
  "extension with blanks": "3 ; a = b\r\nabc\r\n0\r\n\r\n",
  "extension with an open quote": '3;a="b\r\nabc\r\n0\r\n\r\n',
  "extension with an escape": '3;a="\\b"\r\nabc\r\n0\r\n\r\n',
  "no CRLF after bytes": "3\r\nabcd\r\n0\r\n\r\n",
  "bare LF after bytes": "3\r\nabc\n0\r\n\r\n",
  "trailer with blank before colon": "0\r\nX : a\r\n\r\n",
  "trailer with a length": "0\r\nContent-Length: 3\r\n\r\n",
  "trailer with a coding": "0\r\nX: a\r\nTRANSFER-encoding: chunked\r\n\r\n",
  "trailer with a host": "0\r\nhost: b\r\n\r\n",
  "trailer with a key": "0\r\nAuthorization: Bearer x\r\n\r\n",
  "trailer with an address": "0\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n",
  "trailer that is read as an address": "0\r\nX_Forwarded_For: 9.9.9.9\r\n\r\n",
  "folded trailer": "0\r\nX: a\r\n b\r\n\r\n",
  "bare LF after trailer": "0\r\nX: a\n\r\n",
  "bare LF at the end": "0\r\n\n",
};

function lines(...more: string[]): string {
  return `POST / HTTP/1.1\r\nHost: a\r\n${bearer}${more.map((line) => `${line}\r\n`).join("")}`;
}

for (const [name, engine] of Object.entries(engines)) {
  test(`${name}: without the key nothing reaches the upstream`, async (t) => {
    const bed = await aSidecar(t, engine);

    for (const [what, line] of Object.entries(wrongKeys)) {
      const wire = bed.dial();
      wire.send(`GET / HTTP/1.1\r\nHost: a\r\n${line}\r\n`);
      const answer = await wire.answer();

      assert.match(answer, /^HTTP\/1\.1 401 Unauthorized\r\n/, what);
      assert.match(answer, /\r\ncontent-type: application\/json\r\n/, what);
      assert.match(answer, /\r\nWWW-Authenticate: Bearer\r\n/, what);
      assert.ok(answer.endsWith(`\r\n\r\n${unauthorized}`), what);
    }
    assert.equal(bed.upstream.wires.length, 0);
  });

  test(`${name}: what can be read in two ways is refused, and the connection ends`, async (t) => {
    const bed = await aSidecar(t, engine);

    for (const [what, [head, status = 400]] of Object.entries(refused)) {
      const wire = bed.dial();
      wire.send(`${head}\r\n`);
      const answer = await wire.end();

      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), what);
      assert.match(answer, /\r\nconnection: close\r\n/, what);
      assert.equal(answer.split("HTTP/1.1 ").length, 2, what);
    }
    assert.equal(bed.upstream.requests.length, 0);
    assert.equal(bed.upstream.wires.length, 0);
  });

  test(`${name}: chunks that cannot be read are never read otherwise`, async (t) => {
    const bed = await aSidecar(t, engine);

    for (const [what, body] of Object.entries(badChunks)) {
      const wire = bed.dial();
      wire.send(`${lines("Transfer-Encoding: chunked")}\r\n`, body);

      assert.match(await wire.end(), /^HTTP\/1\.1 400 /, what);
    }
    assert.deepEqual(bed.upstream.requests, []);
  });
}
