import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import type { Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import { startAgent, type TestAgent, until } from "../../helpers/agent.ts";
import { aHook, begin, findFile, hookLog, processesOf, putHooks } from "./steps.ts";

const seed = Number(process.env["KILL_SEED"] ?? randomInt(2 ** 31));
const rounds = Number(process.env["KILL_ROUNDS"] ?? 4);

/** When the agent dies, after the lifecycle began and after each time that it came back. */
interface Round {
  readonly killsMs: readonly number[];
  /** Whether a notice comes before the first kill. */
  readonly isTaken: boolean;
}
const anyRound: fc.Arbitrary<Round> = fc.record({
  killsMs: fc.array(fc.noBias(fc.integer({ min: 0, max: 350 })), { minLength: 1, maxLength: 3 }),
  isTaken: fc.boolean(),
});

/** What the list has: each leaves its index and its event in a file when it begins. */
const endings = [
  "exit 0",
  "exit 3",
  "setsid sleep 987 & exit 0",
  "sleep 0.1",
  "printf %5000s",
  "sleep 0.05; exit 1",
];
const begins = "echo $OUTRIGGER_HOOK_INDEX >> ~/began-$OUTRIGGER_LIFECYCLE_ID";
const hooks = endings.map((ending, index) =>
  aHook(`${begins}; ${ending}`, { events: index % 2 === 0 ? ["stop", "preemption"] : ["stop"] }),
);

test(`the agent is killed at random in a lifecycle; KILL_SEED=${seed}`, {
  timeout: 300_000 + rounds * 5_000,
}, async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, hooks);

  for (const { killsMs, isTaken } of fc.sample(anyRound, { seed, numRuns: rounds }))
    await t.test(`after ${killsMs.join(", ")} ms${isTaken ? ", with a notice" : ""}`, async () => {
      const { id } = await begin(agent, "stop");
      if (isTaken) await begin(agent, "preemption", { deadlineAt: Date.now() + 120_000 });
      for (const afterMs of killsMs) {
        await sleep(afterMs);
        await agent.end("SIGKILL");
        await agent.start();
      }
      const ready = await untilReady(agent, id);
      await agent.call("cancelLifecycle", { id });
      await assertWhole(agent, ready, isTaken);
    });
});

/** Each entry ran once, or has a line that says why it did not; nothing is left of any. */
async function assertWhole(agent: TestAgent, ready: Lifecycle, isTaken: boolean): Promise<void> {
  const began = (findFile(agent, `began-${ready.id}`) ?? "").split("\n").filter(Boolean);
  const texts = await Promise.all(ready.logs.map(({ event }) => hookLog(agent, ready, event)));
  const log = texts.join("");
  assert.deepEqual(
    ready.runs.map(({ index }) => index).toSorted(),
    hooks.map((_, index) => index),
  );
  for (const { index, event, status, exitCode } of ready.runs) {
    const starts = began.filter((line) => line === String(index)).length;
    const lines = log.split(`[outrigger] hook ${index + 1} of ${hooks.length} (${event}) `);
    const warnings = lines.slice(1).filter((line) => !line.startsWith("left")).length;
    const isCut = status === "INTERRUPTED";
    // One that the notice cuts may be ended before its first word.
    if (!isCut || starts > 0) assert.equal(starts, status === "SKIPPED" ? 0 : 1, `hook ${index}`);
    assert.equal(warnings, status === "SUCCEEDED" ? 0 : 1, `lines of hook ${index}: ${log}`);
    if (isCut) assert.ok(isTaken, `hook ${index} was interrupted by nothing but a kill`);
    assert.equal(exitCode, isCut ? null : [0, 3, 0, 0, 0, 1][index], `code of hook ${index}`);
  }
  assert.deepEqual(processesOf(agent), []);
}

const untilReady = (agent: TestAgent, id: string): Promise<Lifecycle> =>
  until(async () => {
    const lifecycle = await agent.call("getLifecycle", { id });
    return lifecycle.status === "READY" ? lifecycle : undefined;
  });
