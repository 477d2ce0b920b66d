import assert from "node:assert/strict";
import { test } from "node:test";
import { findCommit } from "../../common/commit.ts";
import { product, protocol } from "../../common/product.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, sendJson } from "./fake-control.ts";

const health = {
  ...{ status: "healthy", api_version: "51", version: "1.2.3" },
  ...{ release: "4.5.6", commit: "0123456789abcdef", user: { id: "u-1", name: "ana" } },
};

test("api info says what control is, and what this client is beside it", async (t) => {
  const control = await fakeControl(t, {
    "GET /api/health": (_seen, res) => sendJson(res, 200, health),
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stdout } = await outrigger(["api", "info"]);

  const cells = stdout.split("\n").map((line) => line.split(/ {2,}/));
  assert.deepEqual(
    [code, cells],
    [
      0,
      [
        ["Endpoint", control.endpoint],
        ["Health", "healthy"],
        ["User", "ana (u-1)"],
        [""],
        ["VERSIONS", "CONTROL PLANE", "THIS CLIENT"],
        ["Release", "4.5.6", product.version],
        ["Commit", "0123456789ab", findCommit()?.slice(0, 12) ?? "-"],
        ["Protocol", "1.2.3", protocol.version],
        ["API version", "51", String(protocol.apiVersion)],
        [""],
      ],
    ],
  );
});

test("api info fits in forty columns", async (t) => {
  const version = "1.2.3-with-a-long-name-from-somewhere";
  const control = await fakeControl(t, {
    "GET /api/health": (_seen, res) => sendJson(res, 200, { ...health, version }),
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["api", "info"], { columns: 40, env: { NO_COLOR: "1" } });

  assert.match(stdout, /^Protocol +1\.2\.3-with\S*… +\S+$/m);
  for (const line of stdout.split("\n")) assert.ok(line.length <= 40, line);
});
