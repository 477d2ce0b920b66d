import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readSettings } from "../../client/settings.ts";
import { tokenFor } from "../../client/token.ts";
import { findProcess } from "../../common/process-tree.ts";

const here = "http://127.0.0.1:7000";

test("the token of a home goes to the control plane that runs on it, and nowhere else", (t) => {
  const home = mkdtempSync(join(tmpdir(), "home-"));
  t.after(() => rmSync(home, { recursive: true }));
  const settings = readSettings({ OUTRIGGER_HOME: home });
  const find = (endpoint: string) => tokenFor(settings, endpoint)?.reveal();
  const runs = (startTicks: number) => {
    const control = { pid: process.pid, startTicks, host: "127.0.0.1", port: 7000 };
    writeFileSync(join(home, "control.pid"), JSON.stringify(control));
  };
  writeFileSync(join(home, "token"), "sky_ours\n");

  assert.equal(find(here), undefined, "nothing runs");
  runs(findProcess(process.pid)?.startTicks ?? 0);
  assert.deepEqual([here, "http://localhost:7000/"].map(find), ["sky_ours", "sky_ours"]);
  for (const other of ["http://127.0.0.1:7001", "http://control.example:7000", "https://127.0.0.1"])
    assert.equal(find(other), undefined, other);
  runs(1);
  assert.equal(find(here), undefined, "another process has the number of the one that ran");
  rmSync(join(home, "token"));
  assert.equal(find(here), undefined);
});

test("a token that is given goes wherever calls go", () => {
  const settings = readSettings({
    OUTRIGGER_TOKEN: " sky_given\n",
    OUTRIGGER_HOME: "/nonexistent",
  });

  assert.equal(tokenFor(settings, "https://control.example")?.reveal(), "sky_given");
  assert.doesNotMatch(JSON.stringify(settings), /sky_given/);
});
