import assert from "node:assert/strict";
import { test } from "node:test";
import { durationOf } from "../../client/arguments.ts";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler } from "./fake-control.ts";
import { usual } from "./usual-routes.ts";

const never: Handler = () => {};
const printing: Handler = (_seen, res) => {
  res.writeHead(200, { "x-skypilot-request-id": "log-1", "log-offset": "0" }).write("hello\n");
};

/** Command lines that wait, and what they say of what goes on. */
const waits = [
  ["stop dev", /The stop of dev continues. Follow it: outrigger api logs /],
  ["launch -c dev true", /The launch continues. Follow it: outrigger api logs /],
  ["logs dev 1", /The job keeps running\. Follow it again: outrigger logs dev 1/],
] as const;

for (const [line, goesOn] of waits)
  test(`\`outrigger ${line} --timeout\` ends with 6, and says what goes on`, async (t) => {
    const routes = { ...usual, "GET /api/stream": never, "POST /logs": printing };
    const control = await fakeControl(t, routes);
    const outrigger = await commandLine(t, control.endpoint);

    // Loads all that is needed, which takes a while.
    await outrigger(wordsOf("stop dev --async"));
    const [told, json] = await Promise.all([
      outrigger(wordsOf(`${line} --timeout 2`)),
      outrigger(wordsOf(`${line} --timeout 2 -o json`)),
    ]);

    assert.equal(told.code, 6, told.stderr);
    assert.match(told.stderr, goesOn);
    assert.match(told.stderr, /\nerror: --timeout: it took longer than 2 s\n$/);
    const { error } = JSON.parse(json.stderr.trimEnd().split("\n").at(-1) ?? "");
    assert.deepEqual([error.code, error.exit_code, error.retryable], ["TimeoutError", 6, true]);
  });

test("a duration has a unit, or is of seconds", () => {
  assert.deepEqual(["90", "90s", "10m", "2h", "1d"].map(durationOf), [90, 90, 600, 7_200, 86_400]);
  for (const odd of ["", "0", "-1", "1.5", "m", "10x", "99d", "1e3"])
    assert.throws(() => durationOf(odd), { name: "UsageError" }, odd);
});
