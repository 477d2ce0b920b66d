import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ifPossible } from "../../common/errors.ts";
import type { JobSidecar, JobSubmission, PartSpec } from "../../contract/agent-shapes.ts";
import type { Agent } from "../context.ts";
import { folderOf } from "../folders.ts";

/** What the folder of a job says of it, should the journal be lost. */
export interface JobNote {
  readonly clusterId: string;
  /** This node's rank of it. */
  readonly rank: number;
  /** Null on a worker, which has a part of the job alone. */
  readonly job: JobFacts | null;
  readonly submittedAt: number;
  readonly spec: Omit<PartSpec, "secrets">;
  /** Secrets and sidecar, sealed; null once the job has ended. */
  readonly sealed: string | null;
  readonly end: JobEnd | null;
}

type JobFacts = Pick<
  JobSubmission,
  "submissionId" | "name" | "userId" | "userName" | "resources" | "metadata"
>;

/** How a job, or on a worker its part, ended. */
export interface JobEnd {
  readonly status: string;
  readonly reason: string | null;
  readonly exitCode: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number;
}

/** What a job runs with and nobody else may see. */
export interface JobSecrets {
  readonly secrets: PartSpec["secrets"];
  readonly sidecar: JobSidecar | null;
}

/** Writes into the folder of a new job what the journal knows of it. */
export function noteJob(
  agent: Agent,
  { secrets, ...spec }: PartSpec,
  note: Pick<JobNote, "clusterId" | "rank" | "job" | "submittedAt">,
  sidecar: JobSidecar | null = null,
): void {
  const sealed = agent.journal.seal.seal(JSON.stringify({ secrets, sidecar }));
  write(agent, { ...note, spec, sealed: sealed.toString("base64"), end: null });
}

/** Writes how a job ended, and forgets its secrets; a full disk stops no job. */
export function noteEnd(agent: Agent, jobId: number, end: JobEnd): void {
  try {
    const note = findNote(agent, jobId);
    if (note !== undefined) write(agent, { ...note, sealed: null, end });
  } catch (error) {
    agent.log.warn({ jobId, error }, "the end of a job is in the journal alone");
  }
}

/** What the folder of a job says of it; undefined where it says nothing that can be read. */
export const findNote = (agent: Pick<Agent, "config">, jobId: number): JobNote | undefined =>
  ifPossible(() => JSON.parse(readFileSync(pathOf(agent, jobId), "utf8")));

/** What is sealed in a note. */
export const openNote = ({ journal }: Agent, { sealed }: JobNote): JobSecrets =>
  sealed === null
    ? { secrets: {}, sidecar: null }
    : (JSON.parse(journal.seal.open(Buffer.from(sealed, "base64"))) as JobSecrets);

const pathOf = (agent: Pick<Agent, "config">, jobId: number): string =>
  join(folderOf(agent, jobId), "job.json");

function write(agent: Agent, note: JobNote): void {
  const path = pathOf(agent, note.spec.jobId);
  writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
