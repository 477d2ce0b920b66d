import { setTimeout as sleep } from "node:timers/promises";
import { logOffsetHeader } from "../../contract/job-log.ts";
import { startAgent, type TestAgent, text } from "./agent.ts";

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Two agents of one cluster, and somebody who carries news between them. */
export async function startCluster(t: Cleaner): Promise<[head: TestAgent, worker: TestAgent]> {
  const agents = await startPair(t);
  startRelay(t, agents);
  return agents;
}

/** Carries news between two agents until the test is over. */
export function startRelay(t: Cleaner, agents: TestAgent[]): void {
  const over = new AbortController();
  const relaying = relay(agents, over.signal);
  t.after(async () => {
    over.abort();
    await relaying;
  });
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
  const part = await worker.call("putPart", { id, wanted, graceMs, spec });
  const { headers, body } = await worker.open("readPartLog", { id, offset });
  const start = Number(headers[logOffsetHeader]);
  const place = { offset: start, ...(start > offset && { leftOutFrom: offset }) };
  const log = await text(body);
  if (log !== "") await head.call("appendPartLog", { id, rank, ...place }, Buffer.from(log));
  if (start + log.length < part.logBytes) return;
  const { status, exitCode, reason } = part;
  await head.call("reportPart", { id, rank, status, exitCode, reason });
}
