import assert from "node:assert/strict";
import { test } from "node:test";
import { addEvent, streamEvents, tellGrowth } from "../../agent/events.ts";
import type { LogGrowth } from "../../contract/agent-shapes.ts";
import { aWorld } from "./world.ts";

test("logs that grow all the time do not hold events up", async (t) => {
  const { world } = aWorld(t);
  const { signal } = new AbortController();
  const kinds: string[] = [];

  for await (const line of streamEvents(world, 0, signal)) {
    tellGrowth(world, 1);
    if (line === "\n") continue;
    kinds.push((JSON.parse(line) as LogGrowth).kind);
    if (kinds.length === 1) addEvent(world, { kind: "idle", status: "" });
    if (kinds.length === 2) break;
  }

  assert.deepEqual(kinds, ["log", "idle"]);
});
