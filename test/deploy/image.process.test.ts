import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { buildControlImage } from "../helpers/control-image.ts";
import { startEngine, whyNoEngine } from "../helpers/engines.ts";
import { claimPorts } from "../helpers/ports.ts";

test("the image of control is built without a daemon, and its control plane answers", {
  skip: whyNoEngine("podman"),
  timeout: 180_000,
}, async (t) => {
  const { run } = await startEngine(t, "podman");
  const image = await buildControlImage(t, run);

  const { document: port } = await claimPorts(t);
  await run("run", "-d", "--network=host", "-e", `OUTRIGGER_PORT=${port}`, image);
  const ask = () => fetch(`http://127.0.0.1:${port}/api/health`).catch(() => undefined);
  const answer = await until(ask);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /healthy/);
});
