import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { whyEnded } from "../../../agent/containers/container.ts";
import { until } from "../../helpers/agent.ts";

/** A stand-in for docker, whose container runs until a file is there. */
function standIn(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "ended-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [file, asked, ended] = ["docker", "asked", "ended"].map((name) => join(folder, name));
  const script = `#!/bin/sh
touch ${asked}
[ "$1" != wait ] || until [ -e ${ended} ]; do sleep 0.02; done
[ -e ${ended} ] && echo c1 0 false false spec || echo c1 7 true false spec`;
  writeFileSync(file ?? "", script, { mode: 0o755 });
  const engine = { name: "docker", file: file ?? "", env: {} } as const;
  return {
    container: { engine, id: "c1" },
    untilAsked: () => until(() => existsSync(asked ?? "") || undefined),
    end: () => writeFileSync(ended ?? "", ""),
  };
}

test("a container whose end is known late has ended", async (t) => {
  const { container, untilAsked, end } = standIn(t);
  const why = whyEnded(container, new AbortController().signal);
  await untilAsked();
  end();

  assert.equal(await why, "its container ended");
});

test("a container that goes on has not ended, and nobody waits for that for long", async (t) => {
  assert.equal(await whyEnded(standIn(t).container, new AbortController().signal, 200), undefined);
});

test("a job that is cancelled does not wait for what became of its container", async (t) => {
  const { container, untilAsked } = standIn(t);
  const cancel = new AbortController();
  const why = whyEnded(container, cancel.signal, 60_000);
  await untilAsked();

  cancel.abort();

  await assert.rejects(why, { name: "AbortError" });
});
