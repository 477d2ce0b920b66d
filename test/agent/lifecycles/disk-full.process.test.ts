import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { eventsOf, startAgent, until } from "../../helpers/agent.ts";
import { aHook, begin, outcomes, processesOf, putHooks, untilFile } from "./steps.ts";

const mayMount = process.getuid?.() === 0;

test("on a full disk hooks run once each, jobs end, and it is all written once there is room", {
  skip: mayMount ? false : "mounting a small disk needs root",
}, async (t) => {
  const disk = mkdtempSync(join(tmpdir(), "disk-"));
  const elsewhere = mkdtempSync(join(tmpdir(), "out-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]);
  const home = join(disk, "home");
  mkdirSync(home);
  const agent = await startAgent(t, { home });
  t.after(() => {
    execFileSync("umount", [disk]);
    rmdirSync(disk);
    rmSync(elsewhere, { recursive: true });
  });
  const say = (name: string) => `echo ${name} $OUTRIGGER_HOOK_EVENT >> ${elsewhere}/said`;
  await putHooks(agent, [aHook(say("one")), aHook(`${say("two")}; exit 3`), aHook(say("three"))]);
  const job = await agent.submit("touch ~/up; sleep 987");
  await untilFile(agent, "up");
  fill(disk);
  await assert.rejects(putHooks(agent, []), { name: "InternalError" });
  const begun = await begin(agent, "stop");
  const ready = await until(async () => {
    const found = await agent.call("getLifecycle", begun);
    return found.status === "READY" ? found : undefined;
  });

  assert.deepEqual(outcomes(ready), [
    "0 stop SUCCEEDED 0",
    "1 stop FAILED 3",
    "2 stop SUCCEEDED 0",
  ]);
  assert.deepEqual(processesOf(agent), []);
  rmSync(join(disk, "filler"));
  await agent.untilJob(job.id);
  for await (const { status } of eventsOf((await agent.open("events", {})).body))
    if (status === "READY") break;
  await agent.end("SIGKILL");
  await agent.start();
  assert.equal((await agent.call("getLifecycle", begun)).status, "READY");
  const said = execFileSync("cat", [join(elsewhere, "said")], { encoding: "utf8" });
  assert.equal(said, "one stop\ntwo stop\nthree stop\n");
});

/** Leaves not one byte of the disk. */
function fill(disk: string): void {
  try {
    execFileSync("sh", ["-c", `cat /dev/zero > ${disk}/filler`], { stdio: "ignore" });
  } catch {}
}
