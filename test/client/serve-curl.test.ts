import assert from "node:assert/strict";
import { test } from "node:test";
import { curlOf } from "../../client/commands/serve-curl.ts";

const at = "http://127.0.0.1:1";

/** What a service says about itself, and how to ask it. */
const lines: readonly [string, string][] = [
  ["{readiness_probe: /health}", `curl ${at}/health`],
  ["{readiness_probe: {path: '/a b'}}", `curl '${at}/a b'`],
  ["{readiness_probe: {path: /v1, post_data: {a: 1}}}", `curl ${at}/`],
  ["{readiness_probe: /h, auth: {api_key: $KEY}}", `curl -H "Authorization: Bearer $KEY" ${at}/h`],
  [
    "{readiness_probe: /h, auth: {api_key: sk-literal}}",
    `curl -H "Authorization: Bearer <key>" ${at}/h`,
  ],
  [
    "{readiness_probe: {path: /h, headers: {Authorization: Bearer sk-literal}}}",
    `curl -H "Authorization: Bearer <key>" ${at}/h`,
  ],
  [
    "{readiness_probe: /h, tls: {keyfile: k.pem, certfile: ~/certs/own.pem}}",
    `curl --cacert ~/certs/own.pem ${at}/h`,
  ],
  [
    "{readiness_probe: /it's, tls: {keyfile: k.pem, certfile: 'own cert.pem'}}",
    `curl --cacert 'own cert.pem' '${at}/it'\\''s'`,
  ],
  [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as task files have it.
    "{readiness_probe: {path: /h, headers: {X-Key: '${KEY}', Accept: text/plain}}}",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as shells have it.
    'curl -H "X-Key: ${KEY}" http://127.0.0.1:1/h',
  ],
];

for (const [service, line] of lines)
  test(`a service of ${service} is asked so: ${line}`, () => {
    assert.equal(curlOf(`service: ${service}\nrun: x\n`, at), line);
  });
