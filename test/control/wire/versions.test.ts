import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clientVersionOf,
  requestIdHeaders,
  versionHeaders,
  versionMismatch,
} from "../../../control/wire/versions.ts";

test("answers carry our versions under both spellings", () => {
  assert.equal(versionHeaders["x-skypilot-api-version"], "62");
  assert.equal(versionHeaders["x-outrigger-api-version"], "62");
  assert.match(versionHeaders["x-skypilot-version"] ?? "", /dev/);
  assert.deepEqual(requestIdHeaders("r1"), {
    "x-outrigger-request-id": "r1",
    "x-skypilot-request-id": "r1",
  });
});

test("a client may say its number under either name, or not at all", () => {
  assert.equal(clientVersionOf({ "x-skypilot-api-version": "50" }), 50);
  assert.equal(clientVersionOf({ "x-outrigger-api-version": "62" }), 62);
  assert.equal(clientVersionOf({}), undefined);
});

test("a number that is none is refused with a sentence", () => {
  assert.throws(() => clientVersionOf({ "x-skypilot-api-version": "new" }), {
    type: "ValueError",
    message: /must be a whole number, not "new"/,
  });
});

test("only a client below the minimum mismatches", () => {
  assert.equal(versionMismatch(undefined), undefined);
  assert.equal(versionMismatch(24), undefined);
  assert.equal(versionMismatch(99), undefined);
  assert.deepEqual(versionMismatch(23), {
    error: "version_mismatch",
    message:
      "this client speaks API version 23, but Outrigger needs 24 or newer; upgrade the client",
  });
});
