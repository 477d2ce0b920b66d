import { fail } from "../../common/errors.ts";
import { fileSizeOf } from "../../common/files.ts";
import type { JobPart, Part, PartSpec } from "../../contract/agent-shapes.ts";
import { type PartStatus, partMachine } from "../../contract/statuses.ts";
import type { Agent } from "../context.ts";
import { logOf, makeFolder, rankLogOf } from "../folders.ts";
import { transaction } from "../journal.ts";
import { refuseWithoutLease } from "../lease-file.ts";
import { getNode } from "../node.ts";
import { noteJob } from "./job-file.ts";
import { getJob } from "./jobs.ts";
import { movePart, wantPart } from "./move.ts";
import {
  addPart,
  addSpec,
  findPart,
  listHoldingParts,
  listParts,
  type PartRow,
  type Wanted,
  wishes,
} from "./part-store.ts";
import { killedCode } from "./parts.ts";
import { assign } from "./queue.ts";

/** What a worker tells of its rank. */
interface PartReport {
  readonly id: number;
  readonly rank: number;
  readonly status: PartStatus;
  readonly exitCode: number | null;
  readonly reason: string | null;
}

/** The ranks of a job as the head sees them. */
export const listJobParts = (agent: Agent, jobId: number): JobPart[] =>
  listParts(agent.journal, getJob(agent, jobId).id).map((part) => toJobPart(agent, part));

/** Takes a worker's news of its rank; older news than the head has changes nothing. */
export function reportPart(
  agent: Agent,
  { id, rank, status, exitCode, reason }: PartReport,
): JobPart[] {
  const part = getRank(agent, id, rank);
  const { names } = partMachine;
  if (names.indexOf(status) > names.indexOf(part.status))
    movePart(agent, id, rank, status, { exitCode, ...(reason !== null && { reason }) });
  return listJobParts(agent, id);
}

/**
 * Takes what the head wants of this worker's rank. The answer is how the rank fares now. Wishes only
 * go forwards, so a late one does nothing; `end` before the spec came leaves a rank that never runs.
 */
export function putPart(
  agent: Agent,
  {
    id,
    wanted,
    graceMs,
    spec,
  }: {
    id: number;
    wanted: Wanted;
    graceMs: number;
    spec?: PartSpec | undefined;
  },
): Part {
  const { journal } = agent;
  const { rank } = getNode(journal);
  if (rank === 0) fail("ConflictError", "the head's own rank is not for others to lead");
  const known = findPart(journal, id, rank);
  if (known === undefined) addNewPart(agent, { id, rank, wanted, spec });
  else if (wishes.indexOf(wanted) > wishes.indexOf(known.wanted))
    wantPart(agent, id, rank, { wanted, graceMs });
  return toPart(agent, findPart(journal, id, rank) ?? fail("InternalError", `part ${id} is lost`));
}

/** This worker's rank of the job; throws `JobNotFoundError`. */
export const getOwnPart = (agent: Agent, id: number): PartRow =>
  getRank(agent, id, getNode(agent.journal).rank);

function addNewPart(
  agent: Agent,
  {
    id,
    rank,
    wanted,
    spec,
  }: { id: number; rank: number; wanted: Wanted; spec: PartSpec | undefined },
): void {
  const { journal } = agent;
  const part = { jobId: id, rank, wanted };
  const nothing = { cpus: 0, accelerators: 0, gpus: [] };
  if (wanted === "end") {
    addPart(journal, { ...part, status: "ENDED", exitCode: killedCode, ...nothing });
    return;
  }
  refuseWithoutLease(agent);
  if (spec === undefined) fail("ValueError", `rank ${rank} does not know job ${id}; send its spec`);
  const gpus = assign(spec.demand, getNode(journal), listHoldingParts(journal, rank));
  if (gpus === undefined)
    fail(
      "ConflictError",
      `rank ${rank} has no room for job ${id} yet; try again once others ended`,
    );
  transaction(journal, () => {
    addSpec(journal, { ...spec, jobId: id });
    addPart(journal, { ...part, status: "WAITING", exitCode: null, ...spec.demand, gpus });
    makeFolder(agent, id, 1);
    const { clusterId } = getNode(journal);
    noteJob(
      agent,
      { ...spec, jobId: id },
      { clusterId, rank, job: null, submittedAt: agent.now() },
    );
  });
}

/** A rank of the job that this node has a row of; throws `JobNotFoundError`. */
export function getRank({ journal }: Agent, id: number, rank: number): PartRow {
  return (
    findPart(journal, id, rank) ??
    fail("JobNotFoundError", `this node knows no rank ${rank} of a job ${id}`)
  );
}

const toJobPart = (agent: Agent, part: PartRow): JobPart => ({
  rank: part.rank,
  wanted: part.wanted,
  graceMs: part.graceMs,
  status: part.status,
  exitCode: part.exitCode,
  logBytes: fileSizeOf(rankLogOf(agent, part.jobId, part.rank)),
});

const toPart = (agent: Agent, { jobId, status, exitCode, reason }: PartRow): Part => ({
  jobId,
  status,
  exitCode,
  reason,
  logBytes: fileSizeOf(logOf(agent, jobId)),
});
