import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "./context.ts";

/** Where everything of a job lies on a node. */
export const folderOf = ({ config }: Pick<Agent, "config">, jobId: number): string =>
  join(config.jobsFolder, String(jobId));

/** The job's log: setup, then run; on the head of a job on several nodes, of all ranks merged. */
export const logOf = (agent: Pick<Agent, "config">, jobId: number): string =>
  logPathAround(agent).join(String(jobId));

/** What stands before and after a job's id in the path of its log. */
export const logPathAround = ({ config }: Pick<Agent, "config">): [string, string] => [
  `${config.jobsFolder}/`,
  "/run.log",
];

/** What the head has of one rank's log, for a job on several nodes. */
export const rankLogOf = (agent: Pick<Agent, "config">, jobId: number, rank: number): string =>
  join(folderOf(agent, jobId), `rank-${rank}.log`);

/** Makes the folder of a new job with its empty logs; what an earlier journal left there goes. */
export function makeFolder(agent: Pick<Agent, "config">, jobId: number, ranks: number): void {
  const folder = folderOf(agent, jobId);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  touch(logOf(agent, jobId));
  if (ranks > 1) for (let rank = 0; rank < ranks; rank += 1) touch(rankLogOf(agent, jobId, rank));
}

const touch = (path: string): void => closeSync(openSync(path, "a", 0o600));
