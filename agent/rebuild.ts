import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ifPossible } from "../common/errors.ts";
import { fileSizeOf } from "../common/files.ts";
import { type JobStatus, jobMachine } from "../contract/statuses.ts";
import type { Agent } from "./context.ts";
import { addEvent } from "./events.ts";
import { folderOf, rankLogOf } from "./folders.ts";
import { findNote, type JobNote, openNote } from "./jobs/job-file.ts";
import { addPart, addSidecar, addSpec, setPart, type Wanted } from "./jobs/part-store.ts";
import { restoreJob } from "./jobs/store.ts";
import { endRebuild, putSetting, type Rebuilt, rebuiltSetting, transaction } from "./journal.ts";
import { findClaim } from "./process.ts";

/**
 * Fills a journal that replaces a corrupt one from what lies in the folders of jobs. Claims and exit
 * codes say how far each came, and the job continues from there: none of its scripts runs again.
 */
export function rebuildJournal(agent: Agent, aside: string): void {
  const found = listNotes(agent);
  const { clusterId } = found.at(-1) ?? {};
  // Folders of an earlier cluster may still be there.
  const notes = found.filter((note) => note.clusterId === clusterId);
  transaction(agent.journal, () => {
    for (const note of notes) restore(agent, note);
    putSetting(agent.journal, rebuiltSetting, { at: agent.now(), aside } satisfies Rebuilt);
    addEvent(agent, { kind: "journal", status: "REBUILT" });
  });
  endRebuild(agent.config.agentFolder);
  agent.log.error({ aside, jobs: notes.length }, "the journal was corrupt, and is rebuilt");
}

/** By rising id. */
function listNotes(agent: Agent): JobNote[] {
  const { jobsFolder } = agent.config;
  const names = ifPossible(() => readdirSync(jobsFolder)) ?? [];
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
    .flatMap((id) => findNote(agent, id) ?? []);
}

function restore(agent: Agent, note: JobNote): void {
  const { journal } = agent;
  const { job, spec, end, submittedAt } = note;
  const { jobId, nodes } = spec;
  const folder = folderOf(agent, jobId);
  const isSetUp = findClaim(folder, "run") !== undefined;
  const claim = findClaim(folder, "run") ?? findClaim(folder, "setup");
  const begun = isSetUp ? ("RUNNING" as const) : ("SETTING_UP" as const);
  if (job !== null) {
    const status =
      (end?.status as JobStatus | undefined) ?? (claim === undefined ? "PENDING" : begun);
    const startedAt = claim === undefined ? null : changedAt(folder, isSetUp);
    const facts = { reason: null, exitCode: null, startedAt, endedAt: null, ...end, status };
    restoreJob(journal, { id: jobId, nodes, submittedAt, ...job, ...facts });
    if (jobMachine.isFinal(status)) return;
  }
  if (end === null) {
    const { secrets, sidecar } = openNote(agent, note);
    addSpec(journal, { ...spec, secrets });
    if (sidecar !== null) addSidecar(journal, jobId, sidecar);
  }
  if (job !== null && claim === undefined) return;
  const wanted: Wanted = isSetUp ? "run" : "setup";
  const ranks = job === null ? [note.rank] : Array.from({ length: nodes }, (_, rank) => rank);
  for (const rank of ranks) {
    const isOwn = rank === note.rank;
    const status = end === null ? (isOwn && claim !== undefined ? begun : "WAITING") : "ENDED";
    const exitCode = end?.exitCode ?? null;
    const gpus = isOwn && claim !== undefined ? gpusOf(claim.pid) : [];
    addPart(journal, { jobId, rank, wanted, status, exitCode, ...spec.demand, gpus });
    setPart(journal, jobId, rank, {
      ...(isOwn && claim !== undefined && { bootId: claim.bootId }),
      // What was merged of it is not known; lines that come twice are worse than a few that are missing.
      merged: fileSizeOf(rankLogOf(agent, jobId, rank)),
    });
  }
}

/** When the last script of a job was begun. */
const changedAt = (folder: string, isSetUp: boolean): number =>
  Math.floor(lstatSync(join(folder, `${isSetUp ? "run" : "setup"}.claim`)).mtimeMs);

/** The accelerators that were given to what runs. */
function gpusOf(pid: number): number[] {
  const environment = ifPossible(() => readFileSync(`/proc/${pid}/environ`, "latin1")) ?? "";
  const [, list = ""] = /(?:^|\0)CUDA_VISIBLE_DEVICES=([\d,]*)/.exec(environment) ?? [];
  return list === "" ? [] : list.split(",").map(Number);
}
