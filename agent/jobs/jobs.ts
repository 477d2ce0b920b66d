import { fail } from "../../common/errors.ts";
import { readBootId } from "../../common/process-tree.ts";
import {
  type Job,
  type JobSubmission,
  type PartSpec,
  runsNothing,
} from "../../contract/agent-shapes.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { type Agent, keys } from "../context.ts";
import { jobVariables } from "../environment.ts";
import { addEvent, tellGrowth } from "../events.ts";
import { logOf, makeFolder } from "../folders.ts";
import { countActivity } from "../idle.ts";
import { transaction } from "../journal.ts";
import { refuseWhileLeaving } from "../lifecycles/lifecycles.ts";
import { getNode } from "../node.ts";
import { noteJob } from "./job-file.ts";
import { keepLogsSmall } from "./log-size.ts";
import { mergeLogs } from "./merge.ts";
import { moveJob, wantPart } from "./move.ts";
import { decide } from "./outcome.ts";
import {
  addPart,
  addSidecar,
  addSpec,
  defaultGraceMs,
  findPart,
  findSpec,
  listHoldingParts,
  listParts,
} from "./part-store.ts";
import { assign, checkFits } from "./queue.ts";
import { addJob, findJob, findNextPending, findSubmitted, type JobRow, setJob } from "./store.ts";
import { whyWaits } from "./waiting.ts";

const headRank = 0;

/** Writes a job into the queue, or finds the one that this submission made before. */
export function submitJob(agent: Agent, submission: JobSubmission): JobRow {
  const { journal, log } = agent;
  const known = findSubmitted(journal, submission.submissionId);
  if (known !== undefined) return known;
  // One that runs nothing only takes its submission's id.
  if (!runsNothing(submission)) refuseWhileLeaving(agent);
  const node = getNode(journal);
  if (node.rank !== headRank) fail("ConflictError", "jobs are submitted to the head, rank 0");
  checkFits(submission, node);
  const id = transaction(journal, () => {
    const submittedAt = agent.now();
    const jobId = addJob(journal, submission, submittedAt);
    const { setup, reusesSetup, run, secrets, demand, limits, nodes, sidecar } = submission;
    const env = { ...jobVariables(submission, jobId, node, submittedAt), ...submission.env };
    const spec = { jobId, setup, reusesSetup, run, env, secrets, demand, limits, nodes };
    addSpec(journal, spec);
    if (sidecar !== null) addSidecar(journal, jobId, sidecar);
    makeFolder(agent, jobId, nodes);
    const note = {
      clusterId: node.clusterId,
      rank: headRank,
      job: factsOf(submission),
      submittedAt,
    };
    noteJob(agent, spec, note, sidecar);
    addEvent(agent, { kind: "job", jobId, status: "PENDING" });
    countActivity(agent);
    return jobId;
  });
  log.info({ jobId: id, name: submission.name }, "job submitted");
  return getJob(agent, id);
}

const factsOf = ({ submissionId, name, userId, userName, resources, metadata }: JobSubmission) => ({
  ...{ submissionId, name, userId, userName, resources, metadata },
});

/** Starts the job that waits longest when it fits; undefined when none does. */
export function startNextJob(agent: Agent): number | undefined {
  const { journal } = agent;
  const job = findNextPending(journal);
  const spec = job && findSpec(journal, job.id);
  if (job === undefined || spec === undefined) return undefined;
  const gpus = assign(spec.demand, getNode(journal), listHoldingParts(journal, headRank));
  if (gpus === undefined) return undefined;
  const part = { jobId: job.id, status: "WAITING", exitCode: null, ...spec.demand } as const;
  transaction(journal, () => {
    for (let rank = 0; rank < job.nodes; rank += 1)
      addPart(journal, { ...part, rank, wanted: "setup", gpus: rank === headRank ? gpus : [] });
    const startedBoot = { bootId: readBootId(), monotonicMs: agent.monotonic() };
    const started = { startedAt: agent.now(), startedBoot };
    moveJob(agent, job.id, spec.setup === null ? "RUNNING" : "SETTING_UP", started);
    if (job.nodes > 1) addEvent(agent, { kind: "part", jobId: job.id, status: "WAITING" });
  });
  return job.id;
}

/** Leads a started job to its end by what its ranks do, this node's and those that are reported. */
export async function driveJob(agent: Agent, id: number): Promise<void> {
  const { journal } = agent;
  await using _logs = keepLogsSmall(agent, id, () => tellGrowth(agent, id));
  using merging = getJob(agent, id).nodes > 1 ? mergeLogs(agent, id) : undefined;
  const look = async () => {
    const step = decide(getJob(agent, id), listParts(journal, id));
    return step.do === "wait" ? undefined : step;
  };
  for (;;) {
    const step = await agent.changes.until(keys.job(id), look, agent.stopping);
    if (step.do === "run") letRun(agent, id);
    if (step.do === "judge") judge(agent, id, step);
    if (step.do !== "finish") continue;
    await merging?.finish();
    return moveJob(agent, id, step.status, { reason: step.reason, exitCode: step.exitCode });
  }
}

/** Ends a job; resolves once nothing of it is left on this node. Other ranks may take longer. */
export async function cancelJob(
  agent: Agent,
  id: number,
  {
    graceMs,
    reason = "cancelled",
    signal = agent.stopping,
  }: { graceMs: number; reason?: string; signal?: AbortSignal },
): Promise<JobRow> {
  const { journal } = agent;
  const { status, verdict } = getJob(agent, id);
  if (status === "PENDING") moveJob(agent, id, "CANCELLED", { reason });
  else if (!jobMachine.isFinal(status) && verdict === null)
    judge(agent, id, { status: "CANCELLED", reason, exitCode: null }, graceMs);
  const look = async () => {
    const job = getJob(agent, id);
    const isGoneHere = findPart(journal, id, headRank)?.status === "ENDED";
    return jobMachine.isFinal(job.status) || (job.nodes > 1 && isGoneHere) ? job : undefined;
  };
  return agent.changes.until(keys.job(id), look, signal);
}

/** The job; throws `JobNotFoundError`. */
export const getJob = ({ journal }: Agent, id: number): JobRow =>
  findJob(journal, id) ?? fail("JobNotFoundError", `there is no job ${id} on this node`);

/** What a worker runs of the job; throws `JobNotFoundError` once it ended. */
export const getSpec = ({ journal }: Agent, id: number): PartSpec =>
  findSpec(journal, id) ?? fail("JobNotFoundError", `job ${id} ended, or was never on this node`);

/** The job as others see it; while it waits, its reason says for what. */
export function toJob(agent: Agent, row: JobRow): Job {
  const { verdict: _verdict, merge: _merge, startedBoot: _startedBoot, ...job } = row;
  const reason = job.status === "PENDING" ? whyWaits(agent, job.id) : job.reason;
  return { ...job, reason, logPath: logOf(agent, job.id) };
}

function letRun(agent: Agent, id: number): void {
  const { journal } = agent;
  transaction(journal, () => {
    for (const { rank } of listParts(journal, id)) wantPart(agent, id, rank, { wanted: "run" });
    if (getJob(agent, id).status === "SETTING_UP") moveJob(agent, id, "RUNNING");
  });
}

/** Writes how a job will end, and wants the end of whatever still runs of it. */
function judge(
  agent: Agent,
  id: number,
  { status: verdict, reason, exitCode }: Pick<JobRow, "status" | "reason" | "exitCode">,
  graceMs: number = defaultGraceMs,
): void {
  const { journal } = agent;
  transaction(journal, () => {
    setJob(journal, id, { verdict, reason, exitCode });
    for (const { rank, status } of listParts(journal, id))
      if (status !== "ENDED") wantPart(agent, id, rank, { wanted: "end", graceMs });
  });
}
