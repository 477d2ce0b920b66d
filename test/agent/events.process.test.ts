import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { eventsOf, startAgent, type TestAgent } from "../helpers/agent.ts";
import { aHook, begin, isEverSo, putHooks, soon, untilStatus } from "./lifecycles/steps.ts";

const notesWhen = aHook("date +%s%3N > ~/began", { events: ["preemption"] });

/** An agent that has more to tell than fits between it and a reader. */
async function aTalkativeAgent(t: TestContext): Promise<TestAgent> {
  const agent = await startAgent(t);
  await putHooks(agent, [notesWhen]);
  await agent.end("SIGKILL");
  const journal = new DatabaseSync(join(agent.home, ".outrigger/agent/journal.db"));
  journal.exec(`INSERT INTO events (at, kind, status) WITH RECURSIVE n(i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, 'idle', hex(zeroblob(1500)) FROM n`);
  journal.close();
  await agent.start();
  return agent;
}

test("readers hear of a preemption before its first hook begins", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [notesWhen]);
  const isHeardFirst = async () => {
    const { lastSeq } = await agent.call("health", {});
    const readers = [1, 2].map(() => agent.open("events", { after: lastSeq }));
    const hearing = (await Promise.all(readers)).map(async ({ body }) => {
      for await (const { kind, status } of eventsOf(body))
        if (kind === "lifecycle" && status === "HOOKS") return Date.now();
      return Infinity;
    });
    const began = join(agent.home, "began");
    rmSync(began, { force: true });
    const begun = await begin(agent, "preemption", { deadlineAt: soon(60_000) });
    await untilStatus(agent, begun, "READY");
    await agent.call("cancelLifecycle", begun);
    const beganAt = Number(readFileSync(began, "utf8"));
    return (await Promise.all(hearing)).every((heardAt) => heardAt <= beganAt);
  };

  assert.ok(await isEverSo(isHeardFirst));
});

test("hooks of a preemption wait for somebody who has much to read first", async (t) => {
  const agent = await aTalkativeAgent(t);
  const areWaiting = async () => {
    const { body } = await agent.open("events", { after: 0 });
    const begun = await begin(agent, "preemption", { deadlineAt: soon(60_000) });
    const { runs: before } = await agent.call("getLifecycle", begun);
    body.resume();
    const { runs, startedAt } = await untilStatus(agent, begun, "READY");
    body.destroy();
    await agent.call("cancelLifecycle", begun);
    return before.length === 0 && (runs[0]?.startedAt ?? Infinity) - startedAt < 400;
  };

  assert.ok(await isEverSo(areWaiting));
});

test("who does not read at all holds up the hooks of a preemption for half a second, and no others", async (t) => {
  const agent = await aTalkativeAgent(t);
  const { body } = await agent.open("events", { after: 0 });
  const begun = await begin(agent, "preemption", { deadlineAt: soon(60_000) });
  const [run] = (await untilStatus(agent, begun, "READY")).runs;
  const waitedMs = (run?.startedAt ?? 0) - begun.startedAt;
  assert.ok(waitedMs > 450 && waitedMs < 60_000, `${waitedMs}`);
  await agent.call("cancelLifecycle", begun);
  await putHooks(agent, [aHook("true")]);
  const isStopAtOnce = async () => {
    const stop = await begin(agent, "stop");
    const [other] = (await untilStatus(agent, stop, "READY")).runs;
    await agent.call("cancelLifecycle", stop);
    return (other?.startedAt ?? Infinity) - stop.startedAt < 400;
  };

  assert.ok(await isEverSo(isStopAtOnce));
  body.destroy();
});
