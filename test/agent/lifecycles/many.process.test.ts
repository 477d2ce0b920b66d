import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startAgent, type TestAgent, text, until } from "../../helpers/agent.ts";
import { aHook, begin, hookLog, outcomes, processesOf, putHooks, untilStatus } from "./steps.ts";

const rounds = Number(process.env["LIFECYCLES"] ?? 4);
const kept = 10;
/** By then everything is there that is kept. */
const warmUp = kept + 2;

test(`${rounds} stops in a row leave no process, handle or file; LIFECYCLES=${rounds}`, {
  timeout: 300_000 + rounds * 1_000,
}, async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook("echo one; setsid sleep 987 &"),
    aHook("exit 3"),
    aHook("echo never", { events: ["down"] }),
  ]);
  for (let round = 0; round < warmUp; round += 1) await stopOnce(agent);
  const files = await untilPutAway(agent);
  const handles = handlesOf(agent);
  for (let round = 0; round < rounds; round += 1) await stopOnce(agent);

  await until(async () => (await untilPutAway(agent)) <= files || undefined);
  await until(() => handlesOf(agent) <= handles || undefined);
  assert.equal((await agent.call("listLifecycles", {})).length, kept);
  assert.deepEqual(processesOf(agent), []);
});

async function stopOnce(agent: TestAgent): Promise<void> {
  const begun = await begin(agent, "stop");
  const ready = await untilStatus(agent, begun, "READY");
  assert.deepEqual(outcomes(ready), ["0 stop SUCCEEDED 0", "1 stop FAILED 3"]);
  const lines = await hookLog(agent, begun, "stop");
  const { body } = await agent.open("readHookLog", { ...begun, event: "stop", follow: "true" });
  assert.equal(await text(body), lines);
  await agent.call("confirmLogs", begun);
  await agent.call("cancelLifecycle", begun);
}

/** Waits until old lifecycles are put away; answers how many files the home has then. */
async function untilPutAway(agent: TestAgent): Promise<number> {
  const folder = join(agent.home, ".outrigger/agent/lifecycles");
  const spare = 1;
  await until(() => readdirSync(folder).length === kept + spare || undefined);
  return until(() => countFiles(agent.home));
}

/** How many there are; undefined where one went meanwhile. */
function countFiles(folder: string): number | undefined {
  try {
    return readdirSync(folder, { recursive: true }).length;
  } catch {
    return undefined;
  }
}

const handlesOf = ({ pid }: TestAgent): number => readdirSync(`/proc/${pid}/fd`).length;
