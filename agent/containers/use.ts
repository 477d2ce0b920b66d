import { readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { unlessMissing } from "../../common/files.ts";
import type { Agent } from "../context.ts";
import { phases } from "../environment.ts";
import { folderOf, hookFolderOf, hookScript } from "../folders.ts";
import { listLiveParts } from "../jobs/part-store.ts";
import { listUnsettled } from "../lifecycles/store.ts";
import { findNode } from "../node.ts";
import type { Script } from "../process.ts";

type Noted = Pick<Script, "folder" | "name">;

const noteOf = ({ folder, name }: Noted): string => join(folder, `${name}.container`);

/** Notes which container a script begins in: its id, and more words. */
export const noteContainer = (script: Noted, ...words: readonly (string | number)[]): void =>
  symlinkSync(words.join(" "), noteOf(script));

/** What was noted for a script, the id of its container first; undefined where nothing was. */
export const readNote = (script: Noted): string[] | undefined =>
  unlessMissing(() => readlinkSync(noteOf(script)).split(" "));

/** Forgets what was noted for a script that did not begin. */
export const dropNote = (script: Noted): void => rmSync(noteOf(script), { force: true });

/**
 * Whether a shell is open, or a job or a hook that has not ended runs or is about to begin in a container; also where
 * an earlier agent began it.
 */
export function isInUse(agent: Agent, id: string): boolean {
  const parts = listLiveParts(agent.journal, findNode(agent.journal)?.rank ?? 0);
  const scripts = [
    ...parts.flatMap(({ jobId }) =>
      phases.map((name) => ({ folder: folderOf(agent, jobId), name })),
    ),
    ...listUnsettled(agent).flatMap(({ id: lifecycle, runs }) =>
      runs
        .filter(({ status }) => status === "RUNNING")
        .map(({ index }) => ({ folder: hookFolderOf(agent, lifecycle, index), name: hookScript })),
    ),
  ];
  return agent.shells.size > 0 || scripts.some((script) => readNote(script)?.[0] === id);
}
