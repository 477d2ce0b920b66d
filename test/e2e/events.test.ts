import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventRecord } from "../../contract/records/events.ts";
import { startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("a reader of events sees each once while control is killed and started again", {
  timeout: 300_000,
}, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const events = control.client.events({ name: "demo", since: "0" });
  t.after(() => events.return(undefined));
  const seen: EventRecord[] = [];
  const until = async (status: string) => {
    for (;;) {
      const { value, done } = await events.next();
      assert.ok(!done);
      seen.push(value);
      if (value.to === status) return;
    }
  };

  const launched = cluster.launch(aTask("sleep 600"));
  await until("UP");
  await launched;
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    await control.end(signal);
    await control.start();
    await cluster.stop();
    await until("STOPPED");
    await control.end(signal);
    await control.start();
    await cluster.start();
    await until("UP");
  }
  await cluster.down();
  await until("GONE");

  const all: number[] = [];
  for await (const { id, to } of control.client.events({ name: "demo", since: "0" })) {
    all.push(id);
    if (to === "GONE") break;
  }
  assert.deepEqual(
    seen.map(({ id }) => id),
    all,
  );
});
