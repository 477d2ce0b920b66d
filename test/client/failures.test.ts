import assert from "node:assert/strict";
import { test } from "node:test";
import { failureOf, failureOfRecord, unreachable } from "../../client/failures.ts";

const record = (error: unknown, status = "FAILED") => ({
  request_id: "r1",
  status,
  error: JSON.stringify(error),
});

const answers: readonly [string, number, unknown, string, RegExp][] = [
  ["text", 404, { detail: "no such request" }, "NotFoundError", /^no such request$/],
  ["typed", 404, { detail: "no x", type: "ClusterDoesNotExist" }, "ClusterDoesNotExist", /^no x$/],
  ["login", 401, { detail: "sign in" }, "AuthenticationError", /sign in/],
  ["proxy", 502, "<html>down</html>", "UnreachableError", /^a proxy at http:\/\/h:1 answered 502 /],
  [
    "page",
    404,
    "<!DOCTYPE html>\n<p>",
    "ConfigError",
    /^there is no control plane at .* web page;/,
  ],
  ["other JSON", 404, { message: "gone" }, "ConfigError", /another program answered 404; set OUT/],
  ["empty", 500, "", "InternalError", /answered 500/],
  ["version", 400, { error: "version_mismatch", message: "old" }, "VersionMismatchError", /^old$/],
  [
    "refused fields",
    422,
    {
      detail: [
        { loc: ["body", "task", "resources", "ports", 0], msg: "not a port", type: "x" },
        { loc: ["body", "cluster_name"], msg: "missing", type: "y" },
      ],
      type: "InvalidTaskError",
    },
    "InvalidTaskError",
    /^task\.resources\.ports\.0: not a port\ncluster_name: missing$/,
  ],
  [
    "failed request",
    500,
    { detail: record({ type: "ClusterNotUpError", message: "dev is STOPPED" }) },
    "ClusterNotUpError",
    /^dev is STOPPED$/,
  ],
];

for (const [name, status, body, type, message] of answers)
  test(`an answer that is no result becomes an error: ${name}`, () => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const failure = failureOf({ endpoint: "http://h:1", status, text });

    assert.equal(failure.type, type);
    assert.match(failure.message, message);
  });

test("a record tells its error, its cancellation, or nothing", () => {
  const foreign = failureOfRecord(record({ type: "KeyError", message: "x" }));

  assert.equal(foreign?.message, "KeyError: x");
  assert.equal(foreign?.type, "RuntimeError");
  assert.equal(failureOfRecord(record(null, "CANCELLED"))?.type, "RequestCancelled");
  assert.equal(failureOfRecord(record(null, "SUCCEEDED")), undefined);
});

test("a refused connection says how to start a control plane", () => {
  const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });

  const here = unreachable("http://127.0.0.1:1", cause).message;
  const elsewhere = unreachable("http://h:1", cause).message;
  assert.match(here, /no control plane at http:\/\/127\.0\.0\.1:1; start one/);
  assert.match(
    elsewhere,
    /no control plane at http:\/\/h:1; set OUTRIGGER_ENDPOINT .*; `outrigger config show --origin`/,
  );
});
