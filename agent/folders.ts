import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
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

/** Where the logs of hooks lie for people: `<event>.log`, earlier ones behind `.1` to `.5`. */
export const hooksFolderOf = ({ config }: Pick<Agent, "config">): string =>
  join(config.agentFolder, "..", "hooks");

/** Where each lifecycle has a folder. */
export const lifecyclesFolderOf = ({ config }: Pick<Agent, "config">): string =>
  join(config.agentFolder, "lifecycles");

/** Where everything of a lifecycle lies: its logs, and a folder an entry of its list. */
export const lifecycleFolderOf = (agent: Pick<Agent, "config">, id: string): string =>
  join(lifecyclesFolderOf(agent), id);

/** What the script of a hook is called in its folder. */
export const hookScript = "hook";

/** Where the script of an entry, its claim and its exit code lie. */
export const hookFolderOf = (agent: Pick<Agent, "config">, id: string, index: number): string =>
  join(lifecycleFolderOf(agent, id), String(index));

/** No id of a lifecycle has a dot. */
const spare = ".spare";

/** Makes the folders that the next lifecycle takes: once it begins the disk may have no room for them. */
export function makeSpareFolder(agent: Pick<Agent, "config">, hooks: number): void {
  for (let index = 0; index < hooks; index += 1)
    mkdirSync(hookFolderOf(agent, spare, index), { recursive: true, mode: 0o700 });
}

/** Makes what is missing of the folders of a lifecycle, out of what lies ready. */
export function takeLifecycleFolder(agent: Pick<Agent, "config">, id: string, index: number): void {
  const folder = lifecycleFolderOf(agent, id);
  if (!existsSync(folder) && existsSync(lifecycleFolderOf(agent, spare)))
    renameSync(lifecycleFolderOf(agent, spare), folder);
  mkdirSync(hookFolderOf(agent, id, index), { recursive: true, mode: 0o700 });
}
