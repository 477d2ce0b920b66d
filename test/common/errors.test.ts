import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import {
  AppError,
  errorCodeOf,
  errorTypes,
  fail,
  isErrorType,
  toAppError,
} from "../../common/errors.ts";
import { Secret } from "../../common/secret.ts";

test("every error type has a status of HTTP and an exit code", () => {
  for (const [type, { http, exit }] of Object.entries(errorTypes)) {
    assert.ok(http >= 400 && http < 600, type);
    assert.ok(exit >= 1 && exit <= 8, type);
  }
});

test("what a task cannot be ends commands as other mistakes of it do, however it is told", () => {
  const { NotSupportedError, InvalidTaskError, ValueError } = errorTypes;

  assert.deepEqual([NotSupportedError.exit, InvalidTaskError.exit, ValueError.exit], [2, 2, 2]);
});

test("fail throws an error of the type, with its details", () => {
  assert.throws(() => fail("ConflictError", "port 80 is taken", { port: 80 }), {
    name: "ConflictError",
    type: "ConflictError",
    message: "port 80 is taken",
    details: { port: 80 },
  });
});

test("what nobody meant becomes an InternalError that keeps its cause and shows nothing of it", () => {
  const meant = new AppError("ValueError", "no");
  const bug = new TypeError("x is undefined");

  assert.equal(toAppError(meant), meant);
  for (const thrown of [bug, "text", undefined, null]) {
    const { type, message, cause } = toAppError(thrown);
    assert.equal(type, "InternalError");
    assert.doesNotMatch(message, /undefined|text/);
    assert.equal(cause, thrown);
  }
});

test("names of every object are no error types", () => {
  for (const name of ["constructor", "__proto__", "toString", "", "Nope"])
    assert.equal(isErrorType(name), false);
  assert.ok(isErrorType("ValueError"));
});

test("system errors are known by their code", () => {
  assert.equal(errorCodeOf(Object.assign(new Error(), { code: "ENOENT" })), "ENOENT");
  for (const thrown of [new Error(), Object.assign(new Error(), { code: 7 }), "ENOENT", null])
    assert.equal(errorCodeOf(thrown), undefined);
});

test("a secret shows itself only when it is revealed", () => {
  const secret = new Secret("hunter2");

  const shown = [`${secret}`, JSON.stringify({ secret }), inspect({ secret }), String(secret)];

  for (const text of shown) assert.doesNotMatch(text, /hunter2/);
  assert.deepEqual(Object.keys(secret), []);
  assert.equal(secret.reveal(), "hunter2");
});
