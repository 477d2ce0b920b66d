import { fail } from "../../common/errors.ts";
import { readBootId } from "../../common/process-tree.ts";
import {
  type JobStatus,
  jobMachine,
  type PartStatus,
  partMachine,
} from "../../contract/statuses.ts";
import { type Agent, keys } from "../context.ts";
import { addEvent } from "../events.ts";
import { logOf } from "../folders.ts";
import { countJobEnd } from "../idle.ts";
import { transaction } from "../journal.ts";
import { noteEnd } from "./job-file.ts";
import { dropSpec, findPart, type PartFacts, setPart } from "./part-store.ts";
import { findJob, type JobFacts, type JobRow, setJob } from "./store.ts";

/** Moves a job to another status together with the event that tells of it. */
export function moveJob(agent: Agent, id: number, to: JobStatus, facts: JobFacts = {}): void {
  const { journal, log, changes } = agent;
  const before = findJob(journal, id) ?? fail("InternalError", `there is no job ${id}`);
  const from = before.status;
  if (!jobMachine.allows(from, to))
    fail("StatusError", `job ${id} cannot go from ${from} to ${to}`);
  const ended = jobMachine.isFinal(to);
  transaction(journal, () => {
    setJob(journal, id, {
      ...facts,
      status: to,
      ...(ended && { endedAt: endInstant(agent, before) }),
    });
    addEvent(agent, { kind: "job", jobId: id, status: to });
    if (ended) dropSpec(journal, id);
    if (ended) countJobEnd(agent);
  });
  if (ended) noteEndOf(agent, id);
  log.info({ jobId: id, from, to, reason: facts.reason }, "job moved");
  changes.notify(keys.job(id));
  if (!ended) return;
  changes.notify(keys.log(logOf(agent, id)));
  changes.notify(keys.work);
  changes.notify(keys.lifecycle);
}

/**
 * Moves a rank to another status. A report may skip statuses that its reader never saw, so only
 * the order of the table is held. Ranks of a job on one node make no event: the job's are enough.
 */
export function movePart(
  agent: Agent,
  jobId: number,
  rank: number,
  to: PartStatus,
  facts: PartFacts = {},
): void {
  const { journal, log, changes } = agent;
  const from = findPart(journal, jobId, rank)?.status ?? "ENDED";
  if (partMachine.names.indexOf(to) <= partMachine.names.indexOf(from))
    fail("StatusError", `rank ${rank} of job ${jobId} cannot go from ${from} to ${to}`);
  const job = findJob(journal, jobId);
  transaction(journal, () => {
    setPart(journal, jobId, rank, { ...facts, status: to });
    if (job?.nodes !== 1) addEvent(agent, { kind: "part", jobId, status: to });
    if (job !== undefined || to !== "ENDED") return;
    dropSpec(journal, jobId);
    countJobEnd(agent);
  });
  if (job === undefined && to === "ENDED")
    noteEnd(agent, jobId, {
      status: to,
      ...endOfPart(facts),
      startedAt: null,
      endedAt: agent.now(),
    });
  log.debug({ jobId, rank, from, to, reason: facts.reason }, "part moved");
  changes.notify(keys.job(jobId));
  if (to !== "ENDED") return;
  changes.notify(keys.log(logOf(agent, jobId)));
  changes.notify(keys.lifecycle);
}

/** What a job took is measured by the clock that nobody sets, as long as that has not begun anew. */
function endInstant(agent: Agent, { startedAt, startedBoot, submittedAt }: JobRow): number {
  const now = agent.now();
  if (startedAt === null) return Math.max(submittedAt, now);
  if (startedBoot?.bootId !== readBootId()) return Math.max(startedAt, now);
  return Math.round(startedAt + agent.monotonic() - startedBoot.monotonicMs);
}

const endOfPart = (facts: PartFacts) => ({
  reason: facts.reason ?? null,
  exitCode: facts.exitCode ?? null,
});

function noteEndOf(agent: Agent, id: number): void {
  const { status, reason, exitCode, startedAt, endedAt } =
    findJob(agent.journal, id) ?? fail("InternalError", `there is no job ${id}`);
  noteEnd(agent, id, { status, reason, exitCode, startedAt, endedAt: endedAt ?? agent.now() });
}

/** Writes what is wanted of a rank, and tells who relays it. */
export function wantPart(agent: Agent, jobId: number, rank: number, facts: PartFacts): void {
  const { journal, changes } = agent;
  transaction(journal, () => {
    setPart(journal, jobId, rank, facts);
    const status = findPart(journal, jobId, rank)?.status ?? "ENDED";
    if (findJob(journal, jobId)?.nodes !== 1) addEvent(agent, { kind: "part", jobId, status });
  });
  changes.notify(keys.job(jobId));
}
