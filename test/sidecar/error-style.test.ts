import assert from "node:assert/strict";
import { test } from "node:test";
import { aSidecar, bodyOf, engines } from "./bed.ts";

for (const [name, engine] of Object.entries(engines)) {
  test(`${name}: without a key the body is what is specified, and names the scheme`, async (t) => {
    const bed = await aSidecar(t, engine);
    const wire = bed.dial();
    wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer = await wire.answer();

    assert.match(answer, /^HTTP\/1\.1 401 Unauthorized\r\n/);
    assert.match(answer, /\r\nWWW-Authenticate: Bearer\r\n/);
    assert.equal(bodyOf(answer), '{"error":"Unauthorized"}');
  });

  test(`${name}: in the style of openai refusals have its error object`, async (t) => {
    const bed = await aSidecar(t, engine, { errorStyle: "openai", upstreamPort: 1 });
    const wire = bed.dial();
    wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const [refused, unreachable] = [await wire.answer(), await bed.ask("GET / HTTP/1.1")];

    assert.match(refused, /^HTTP\/1\.1 401 [\s\S]*\r\nWWW-Authenticate: Bearer\r\n/);
    assert.deepEqual(JSON.parse(bodyOf(refused)), {
      error: {
        message: "no key, or an unknown one",
        type: "invalid_request_error",
        param: null,
        code: "invalid_api_key",
      },
    });
    assert.match(unreachable, /^HTTP\/1\.1 502 /);
    assert.deepEqual(JSON.parse(bodyOf(unreachable)), {
      error: {
        message: "the upstream cannot be reached, or broke off",
        type: "server_error",
        param: null,
        code: "upstream_refused",
      },
    });
  });
}
