import { setTimeout as sleep } from "node:timers/promises";
import { startAgent, type TestAgent, text } from "./agent.ts";

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Two agents of one cluster, and somebody who carries news between them. */
export async function startCluster(t: Cleaner): Promise<[head: TestAgent, worker: TestAgent]> {
  const agents = await startPair(t);
  const over = new AbortController();
  const relaying = relay(agents, over.signal);
  t.after(async () => {
    over.abort();
    await relaying;
  });
  return agents;
}

/** Two agents of one cluster that know nothing of each other. */
export function startPair(t: Cleaner): Promise<[head: TestAgent, worker: TestAgent]> {
  const addresses = ["10.0.0.1", "10.0.0.2"];
  return Promise.all([startAgent(t, { addresses }), startAgent(t, { addresses, rank: 1 })]);
}

/** As control does it, but everything twice: whatever is repeated must change nothing. */
async function relay([head, worker]: TestAgent[], signal: AbortSignal): Promise<void> {
  while (head && worker && !signal.aborted) {
    const jobs = await head.call("listJobs", { active: "true" }).catch(() => []);
    for (const { id } of jobs.filter(({ nodes }) => nodes > 1))
      for (const _ of ["once", "again"]) await carry(head, worker, id).catch(() => {});
    await sleep(5);
  }
}

/** The log goes before the status that was true before it was read. */
async function carry(head: TestAgent, worker: TestAgent, id: number): Promise<void> {
  const rank = 1;
  const wish = (await head.call("listParts", { id }))[rank];
  if (wish === undefined) return;
  const { wanted, graceMs, logBytes: offset } = wish;
  const spec = await head.call("getPartSpec", { id });
  const { status, exitCode, reason } = await worker.call("putPart", { id, wanted, graceMs, spec });
  const log = await text((await worker.open("readPartLog", { id, offset })).body);
  if (log !== "") await head.call("appendPartLog", { id, rank, offset }, Buffer.from(log));
  await head.call("reportPart", { id, rank, status, exitCode, reason });
}
