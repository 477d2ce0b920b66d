import { appendFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { describeSurvivors, endTree } from "../../common/end-processes.ts";
import { readBootId, type Tree } from "../../common/process-tree.ts";
import { product } from "../../common/product.ts";
import type { PartSpec } from "../../contract/agent-shapes.ts";
import { rebooted } from "../../contract/job-loss.ts";
import { runOnNode } from "../containers/run.ts";
import { type Agent, keys } from "../context.ts";
import { countMemoryKills, mostProcesses } from "../control-groups.ts";
import { environmentOf, markOf, type Phase, phases } from "../environment.ts";
import { untilExported } from "../files/volumes.ts";
import { folderOf, logOf, rankLogOf } from "../folders.ts";
import { untilWritten } from "../log-pipe.ts";
import { untilMounted } from "../mounts/mounts.ts";
import { describeWriteBack, untilWrittenBack } from "../mounts/unwritten.ts";
import { getNode } from "../node.ts";
import { listRoots, type Outcome, signsOf } from "../process.ts";
import { hasSetup, setLastSetup } from "./last-setup.ts";
import { keepLogsSmall } from "./log-size.ts";
import { movePart } from "./move.ts";
import {
  findPart,
  findSidecar,
  findSpec,
  listLiveParts,
  type PartFacts,
  type PartRow,
  type Wanted,
} from "./part-store.ts";
import { endSidecar } from "./sidecar.ts";
import { findJob } from "./store.ts";

/** What its background processes have after TERM when the script itself is done. */
const leftoverGraceMs = 3_000;

/** How long a job waits for what it wrote to reach its buckets, and one that is ended. */
const writeMs = 30 * 60_000;
const endedWriteMs = 15_000;

/** What a rank that is ended leaves as its exit code, as if killed. */
export const killedCode = 137;

/**
 * Takes this node's rank of a job from where the journal has it to its end: setup, the wait for the
 * other ranks, run. Called again after a restart it goes on with the processes it finds.
 */
export async function drivePart(agent: Agent, jobId: number, rank: number): Promise<void> {
  const bootId = readBootId();
  // On the head the job's logs are looked after together.
  await using _log = rank === 0 ? undefined : keepLogsSmall(agent, jobId);
  for (;;) {
    const part = findPart(agent.journal, jobId, rank);
    const spec = findSpec(agent.journal, jobId);
    if (part === undefined || part.status === "ENDED") return;
    if (spec === undefined) return movePart(agent, jobId, rank, "ENDED", lostSpec);
    if (part.bootId !== null && part.bootId !== bootId)
      return movePart(agent, jobId, rank, "ENDED", { reason: rebooted });
    await step(agent, part, spec, bootId);
  }
}

const lostSpec: PartFacts = { reason: "the journal does not have its script" };

/** One move onwards. What is written before a script starts is what a restart goes on from. */
async function step(agent: Agent, part: PartRow, spec: PartSpec, bootId: string): Promise<void> {
  const { jobId, rank, status, wanted } = part;
  if (wanted === "end") {
    const sidecar = findSidecar(agent.journal, jobId);
    // Either has half of the time.
    const graceMs = sidecar === undefined ? part.graceMs : part.graceMs / 2;
    if (sidecar) await endSidecar(sidecar, treeOf(agent, jobId), graceMs, agent.stopping);
    return endPart(agent, part, { exitCode: killedCode }, graceMs);
  }
  const unmounted =
    status === "WAITING"
      ? ((await untilMounted(agent)) ?? (await untilExported(agent)))
      : undefined;
  if (unmounted !== undefined)
    return movePart(agent, jobId, rank, "ENDED", { bootId, reason: unmounted });
  if (status === "WAITING" && needsSetup(agent, spec)) {
    setLastSetup(agent.journal, null);
    return movePart(agent, jobId, rank, "SETTING_UP", { bootId });
  }
  if (status === "WAITING") return movePart(agent, jobId, rank, "READY", { bootId });
  if (status === "READY" && wanted === "setup")
    return untilWanted(agent, part, ["run", "end"], agent.stopping);
  if (status === "READY") return movePart(agent, jobId, rank, "RUNNING");

  const phase = status === "SETTING_UP" ? "setup" : "run";
  const outcome = await runUnlessEnded(agent, part, spec, phase);
  if (outcome === "end is wanted") return;
  if (phase === "setup" && "code" in outcome && outcome.code === 0) {
    setLastSetup(agent.journal, spec.setup);
    return movePart(agent, jobId, rank, "READY");
  }
  return endPart(agent, part, factsOf(agent, part, spec, outcome), leftoverGraceMs);
}

/** How a script ended; whatever failed after its memory ran out failed for that. */
function factsOf(agent: Agent, part: PartRow, { limits }: PartSpec, outcome: Outcome): PartFacts {
  const isFailed = !("code" in outcome) || outcome.code !== 0;
  const { memoryBytes } = limits;
  if (
    isFailed &&
    memoryBytes !== undefined &&
    countMemoryKills(treeOf(agent, part.jobId).groups) > 0
  )
    return {
      exitCode: "code" in outcome ? outcome.code : killedCode,
      reason: `it exceeded its memory limit of ${inGigabytes(memoryBytes)} GB and was killed`,
    };
  if ("lost" in outcome) return { reason: outcome.lost };
  const { code: exitCode, why: reason } = outcome;
  return { exitCode, ...(reason !== undefined && { reason }) };
}

const inGigabytes = (bytes: number): number => Math.round((bytes / 2 ** 30) * 100) / 100;

const needsSetup = ({ journal }: Agent, { setup, reusesSetup }: PartSpec): boolean =>
  setup !== null && !(reusesSetup && hasSetup(journal, setup));

/** Runs a script to its end, or until the end of the part is wanted. */
async function runUnlessEnded(
  agent: Agent,
  part: PartRow,
  spec: PartSpec,
  phase: Phase,
): Promise<Outcome | "end is wanted"> {
  const text = spec[phase];
  if (text === null) return { code: 0 };
  const folder = folderOf(agent, part.jobId);
  const { baseEnv, workdir, workdirLink } = agent.config;
  const env = environmentOf(baseEnv, folder, spec, getNode(agent.journal), { phase, ...part });
  const sidecar = phase === "run" ? findSidecar(agent.journal, part.jobId) : undefined;
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, agent.stopping]);
  const where = { folder, logFile: outputOf(agent, part), workdir, workdirLink };
  const limits = { processes: mostProcesses(), ...spec.limits };
  const signs = signsOf(agent, markOf(folder), limits);
  const run = runOnNode(agent, { name: phase, text, env, sidecar, ...where, ...signs }, signal);
  const end = untilWanted(agent, part, ["end"], signal).then(() => "end is wanted" as const);
  try {
    return await Promise.race([run, end]);
  } finally {
    over.abort();
    for (const loser of [run, end]) loser.catch(() => {});
  }
}

function untilWanted(
  { journal, changes }: Agent,
  { jobId, rank }: PartRow,
  wishes: readonly Wanted[],
  signal: AbortSignal,
): Promise<void> {
  const look = async () => {
    const part = findPart(journal, jobId, rank);
    return part === undefined || wishes.includes(part.wanted) || undefined;
  };
  return changes.until(keys.job(jobId), look, signal).then(() => {});
}

/** Ends whatever is left of the part, then says so, and which processes could not be ended. */
async function endPart(
  agent: Agent,
  part: PartRow,
  facts: PartFacts,
  graceMs: number,
): Promise<void> {
  const { jobId, rank } = part;
  const left = await endTree(treeOf(agent, jobId), graceMs, agent.stopping);
  if (left.length > 0) agent.log.warn({ jobId, left }, "processes of a job remain");
  await untilWritten(folderOf(agent, jobId), phases, () => left.length > 0, agent.stopping);
  await endWriting(agent, part);
  const reason = [facts.reason, describeSurvivors(left)].filter(Boolean).join("; ");
  movePart(agent, jobId, rank, "ENDED", { ...facts, ...(reason === "" ? {} : { reason }) });
}

/** A job has ended once what it wrote to buckets is there, or the time is over; its log says so. */
async function endWriting(agent: Agent, part: PartRow): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, agent.stopping]);
  const untilEnded = untilWanted(agent, part, ["end"], signal).then(() =>
    sleep(endedWriteMs, undefined, { signal }),
  );
  for (const wait of [untilEnded, sleep(writeMs, undefined, { signal })])
    wait.then(
      () => over.abort(),
      () => {},
    );
  const areOthersWriting = () =>
    listLiveParts(agent.journal, part.rank).some(
      ({ jobId, status }) => jobId !== part.jobId && ["SETTING_UP", "RUNNING"].includes(status),
    );
  const result = await untilWrittenBack(agent, signal, { areOthersWriting }).finally(() =>
    over.abort(),
  );
  agent.stopping.throwIfAborted();
  if (result !== undefined)
    await appendFile(outputOf(agent, part), `[${product.word}] ${describeWriteBack(result)}\n`);
}

/** Every process of a job on this node. */
export function treeOf(agent: Agent, jobId: number): Required<Tree> {
  const folder = folderOf(agent, jobId);
  return { ...signsOf(agent, markOf(folder)), roots: listRoots(folder, phases) };
}

/** Where the scripts of this node's rank write: the merged log is not theirs. */
function outputOf(agent: Agent, { jobId, rank }: PartRow): string {
  const nodes = findJob(agent.journal, jobId)?.nodes ?? 1;
  return nodes > 1 ? rankLogOf(agent, jobId, rank) : logOf(agent, jobId);
}
