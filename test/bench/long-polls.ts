import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { openDatabase } from "../../control/db/open.ts";
import { addRequest } from "../../control/requests/store.ts";
import type { Figure } from "./figures.ts";
import type { Control, Lab } from "./lab.ts";
import { quantile, settledMib, timesOf } from "./measure.ts";

const polls = 10_000;

/** Ten thousand clients that each wait for a request of their own, which does not end. */
export async function longPolls(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  const ids = await addEndless(control, polls);
  const load = lab.load("long-polls-load.ts", control.endpoint);
  load.send(ids);
  await once(load, "message", { signal: lab.signal });
  const measured = await settledMib(control.pid, lab.signal);
  const health = await timesOf(() => control.client.health(), { warmUps: 5, samples: 50 });
  return [
    {
      what: `control with ${polls} open long polls`,
      measured,
      unit: "MiB",
      target: { atMost: 400 },
    },
    { what: "  answers /api/health meanwhile: p99", measured: quantile(health, 0.99), unit: "ms" },
  ];
}

/** Writes requests beside control, which therefore never takes them on. */
async function addEndless({ home }: Control, count: number): Promise<string[]> {
  const db = await openDatabase(join(home, "control/state.db"));
  const ids = Array.from({ length: count }, () => randomUUID());
  await db.transaction().execute(async (tx) => {
    for (const id of ids)
      await addRequest(tx, {
        ...{ id, name: "status", queue: "short", userId: "bench", userName: "bench" },
        ...{
          clusterName: null,
          clientApi: null,
          workspace: "default",
          credential: "local",
          input: Buffer.alloc(0),
          createdAt: Date.now(),
        },
      });
  });
  await db.destroy();
  return ids;
}
