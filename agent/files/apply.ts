import { constants } from "node:fs";
import { chmod, copyFile, mkdir, rename, rm, rmdir, symlink, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AppError, type ErrorType, errorCodeOf } from "../../common/errors.ts";
import { isFolder } from "../../common/files.ts";
import type { FileEntry } from "../../contract/files-api.ts";
import type { Agent } from "../context.ts";
import { contentOf } from "./contents.ts";
import { type FilePlan, findStats } from "./plan.ts";

/**
 * Does what a plan says; every file is replaced at once or not at all. Repeated after it broke off,
 * it does the rest.
 */
export async function applyFiles(
  agent: Pick<Agent, "config">,
  root: string,
  plan: FilePlan,
): Promise<void> {
  const deepestFirst = plan.removals.toSorted((a, b) => b.path.length - a.path.length);
  for (const { kind, path } of deepestFirst)
    await at(root, path, (there) => (kind === "folder" ? removeEmpty(there) : unlink(there)));
  for (const path of plan.folders.toSorted()) await at(root, path, makeFolder);
  const uses = countUses(plan.files);
  for (const entry of plan.files) {
    const left = (uses.get(entry.sha256) ?? 1) - 1;
    uses.set(entry.sha256, left);
    const content = contentOf(agent, entry.sha256);
    await at(root, entry.path, (there) => place(content, there, entry.mode, left === 0));
  }
  for (const { path, mode } of plan.modes) await at(root, path, (there) => chmod(there, mode));
  for (const { path, target } of plan.links) await at(root, path, (there) => link(there, target));
}

/** How often each content is wanted: the last one who wants it gets the file itself. */
function countUses(files: readonly FileEntry[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const { sha256 } of files) uses.set(sha256, (uses.get(sha256) ?? 0) + 1);
  return uses;
}

async function makeFolder(there: string): Promise<void> {
  const stats = await findStats(there);
  // A link to a folder stands for the files behind it.
  if (stats !== undefined && !(await isFolder(there))) await unlink(there);
  await mkdir(there, { recursive: true });
}

/** Puts a content at a path: the file itself, or a copy of it. */
async function place(
  content: string,
  there: string,
  mode: number,
  isLastUse: boolean,
): Promise<void> {
  const draft = isLastUse ? content : `${content}.copy`;
  if (!isLastUse) await copyFile(content, draft, constants.COPYFILE_FICLONE);
  await chmod(draft, mode);
  await rename(draft, there).catch(async (error: unknown) => {
    if (errorCodeOf(error) === "EXDEV") return moveAcross(draft, there, mode);
    await makeRoom(there);
    await rename(draft, there);
  });
}

/** On another disk a file is complete only once it is there: it gets its name then. */
async function moveAcross(draft: string, there: string, mode: number): Promise<void> {
  const near = join(dirname(there), `.${basename(draft).slice(0, 16)}.part`);
  await makeRoom(there);
  try {
    await copyFile(draft, near);
    await chmod(near, mode);
    await rename(near, there);
  } finally {
    await rm(near, { force: true });
  }
  await rm(draft, { force: true });
}

async function link(there: string, target: string): Promise<void> {
  await makeRoom(there);
  await rm(there, { force: true });
  await symlink(target, there);
}

/** The folder around a path, and no folder at it. */
async function makeRoom(there: string): Promise<void> {
  await mkdir(dirname(there), { recursive: true });
  if ((await findStats(there))?.isDirectory()) await rmdir(there);
}

/** A folder in which others put or mounted something stays. */
async function removeEmpty(there: string): Promise<void> {
  await rmdir(there).catch((error: unknown) => {
    if (!["ENOTEMPTY", "EEXIST", "EBUSY"].includes(errorCodeOf(error) ?? "")) throw error;
  });
}

/** What a user can do about errors of the system. */
const reasons: Readonly<Record<string, { type: ErrorType; why: string }>> = {
  ENOTEMPTY: { type: "ConflictError", why: "is a folder here that has files of its own" },
  EEXIST: { type: "ConflictError", why: "is in the way: a file is where a folder must be" },
  ENOTDIR: { type: "ConflictError", why: "cannot be made: a file is where a folder must be" },
  EACCES: { type: "PermissionDeniedError", why: "may not be written by the user of this node" },
  EPERM: { type: "PermissionDeniedError", why: "may not be written by the user of this node" },
  EROFS: { type: "PermissionDeniedError", why: "is on a disk that cannot be written" },
  ENOTCONN: {
    type: "ConflictError",
    why: "is a mount here whose program has ended; unmount it with: fusermount3 -u PATH",
  },
  ENOSPC: { type: "RuntimeError", why: "has no room: the disk is full" },
  EDQUOT: { type: "RuntimeError", why: "has no room: the disk quota is used up" },
  ENAMETOOLONG: { type: "ValueError", why: "is too long a name for this node" },
};

/** Works on a path; what goes wrong there is told with its name. */
async function at(root: string, path: string, work: (there: string) => Promise<unknown>) {
  const there = join(root, path);
  try {
    await work(there);
  } catch (error) {
    const reason = reasons[errorCodeOf(error) ?? ""];
    if (reason === undefined) throw error;
    throw new AppError(reason.type, `${there} ${reason.why}`, {}, error);
  }
}
