import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, keys } from "../context.ts";
import { driveLifecycle } from "../lifecycles/drive.ts";
import { findOpenLifecycle, listUnsettled } from "../lifecycles/store.ts";
import { findNode } from "../node.ts";
import { driveJob, startNextJob } from "./jobs.ts";
import { listLiveParts } from "./part-store.ts";
import { drivePart } from "./parts.ts";
import { listStartedIds } from "./store.ts";

const retryMs = 1_000;

/**
 * Starts jobs that fit and sees to it that each lifecycle, each started job and each live rank of
 * this node is led by somebody, for as long as the agent lives. After a restart that is how they are taken up again.
 */
export function superviseWork(agent: Agent): Promise<never> {
  const led = new Set<string>();
  let retry: NodeJS.Timeout | undefined;
  const look = async (): Promise<undefined> => {
    for (const { id } of listUnsettled(agent))
      lead(agent, led, `lifecycle ${id}`, () => driveLifecycle(agent, id));
    const node = findNode(agent.journal);
    if (node === undefined) return;
    clearTimeout(retry);
    if (!tryStartJobs(agent)) retry = setTimeout(() => agent.changes.notify(keys.work), retryMs);
    for (const id of listStartedIds(agent.journal))
      lead(agent, led, `job ${id}`, () => driveJob(agent, id));
    for (const { jobId, rank } of listLiveParts(agent.journal, node.rank))
      lead(agent, led, `part ${jobId}`, () => drivePart(agent, jobId, rank));
  };
  return agent.changes.until<never>(keys.work, look, agent.stopping);
}

/** A full disk must not end the agent: what runs needs it, and so do hooks. */
function tryStartJobs(agent: Agent): boolean {
  try {
    if (findOpenLifecycle(agent) === undefined) while (startNextJob(agent) !== undefined);
    return true;
  } catch (error) {
    agent.log.error({ error }, "a job cannot be started; trying again");
    return false;
  }
}

/** Leads a thing to its end unless somebody does already; what goes wrong on our side is tried again. */
async function lead(
  { log, stopping }: Agent,
  led: Set<string>,
  name: string,
  drive: () => Promise<void>,
): Promise<void> {
  if (led.has(name)) return;
  led.add(name);
  for (let isDone = false; !isDone && !stopping.aborted; ) {
    try {
      await drive();
      isDone = true;
    } catch (error) {
      if (stopping.aborted) return;
      log.error({ name, error }, "leading failed; trying again");
      await sleep(retryMs);
    }
  }
  led.delete(name);
}
