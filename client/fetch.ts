import { chmod, mkdir, rename, rm, statfs, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fail } from "../common/errors.ts";
import { type FileEntry, mostStretches, type Stretch, StretchHead } from "../contract/files-api.ts";
import { linesOf, openFrames, parseLine } from "../contract/frames.ts";
import { clusterOperations } from "../contract/operations/clusters.ts";
import { bytesText } from "../contract/sizes.ts";
import { partOf, receivePart, sizeOfPart } from "./fetch-part.ts";
import { type FetchPlan, planFetch, type Target } from "./fetch-plan.ts";
import { mayPass, patiently } from "./follow.ts";
import { cannotWrite } from "./local-files.ts";
import type { Client } from "./sdk.ts";

/** Something on a node, and how to get at it. */
export interface Source {
  readonly client: Client;
  /** `CLUSTER:PATH`. */
  readonly place: string;
  readonly rank: number;
  readonly signal: AbortSignal;
}

/** Is told how a fetch goes on. */
export interface Watcher {
  looking(listed: number): void;
  /** The list is known. */
  begins(plan: FetchPlan): void;
  came(bytes: number): void;
}

const mostRounds = 5;

/**
 * Makes a place here what a node has at a path; only what is not here yet is sent, and a file that
 * came in part goes on. Answers what there was to do. Throws `ConflictError` for files
 * that do not stay as they are.
 */
export async function fetchFiles(
  source: Source,
  target: Target,
  watcher: Watcher,
): Promise<FetchPlan> {
  let isThere = false;
  for (let round = 1; round <= mostRounds; round += 1) {
    const lookAgain = (heard: () => void) =>
      look(source, target, (listed) => {
        isThere = true;
        heard();
        watcher.looking(listed);
      });
    // A control plane that has not been there yet is not waited for.
    const plan = await patiently(lookAgain, source, (...error) => isThere && mayPass(...error));
    watcher.begins(plan);
    await makeFolders(plan);
    await checkRoom(plan);
    if (!(await bringContents(source, plan, watcher))) continue;
    await finish(plan);
    return plan;
  }
  return fail(
    "ConflictError",
    `${source.place} keeps changing; run the command again when it has stopped`,
  );
}

async function look(
  { client, place, rank }: Source,
  target: Target,
  heard: (listed: number) => void,
): Promise<FetchPlan> {
  const input = { folder_paths: [place], rank, answer: "list" as const };
  const body = await client.open(clusterOperations.download, input);
  return planFetch(linesOf(body), target, heard);
}

async function makeFolders({ root, folders, files }: FetchPlan): Promise<void> {
  const isFile = files.some(({ path }) => path === "");
  const needed = isFile ? [dirname(root)] : folders.map((path) => join(root, path));
  for (const folder of needed) await mkdir(folder, { recursive: true }).catch(cannotWrite(folder));
}

/** Throws before anything is sent that would not fit. */
async function checkRoom({ root, files }: FetchPlan): Promise<void> {
  if (files.length === 0) return;
  const { bavail, bsize } = await statfs(files[0]?.path === "" ? dirname(root) : root);
  const room = bavail * bsize;
  let needed = sizeOf(files);
  for (const file of files) {
    if (needed <= room) return;
    needed -= await sizeOfPart(join(root, file.path), file);
  }
  if (needed <= room) return;
  const texts = [needed, room].map(bytesText);
  fail("RuntimeError", `${root} has too little space: ${texts[0]} needed, ${texts[1]} free`);
}

const sizeOf = (files: readonly FileEntry[]) => files.reduce((sum, { size }) => sum + size, 0);

/** False when a file was not as listed any more. */
async function bringContents(
  source: Source,
  { root, files }: FetchPlan,
  { came }: Watcher,
): Promise<boolean> {
  const todo = new Set(files);
  const task = { root, todo, isAsListed: true, wholeBytes: 0 };
  while (todo.size > 0)
    await patiently(
      (heard) =>
        bringSome(source, task, (bytes) => {
          heard();
          came(bytes);
        }),
      source,
    );
  return task.isAsListed;
}

interface Task {
  readonly root: string;
  readonly todo: Set<FileEntry>;
  isAsListed: boolean;
  /** The bytes of the files that are done. */
  wholeBytes: number;
}

async function bringSome(
  { client, place, rank }: Source,
  task: Task,
  came: (bytes: number) => void,
): Promise<void> {
  const some = task.todo.values().take(mostStretches).toArray();
  const stretches: Stretch[] = [];
  for (const file of some) {
    const offset = await sizeOfPart(join(task.root, file.path), file);
    stretches.push({ path: file.path, offset, end: file.size });
  }
  const input = { folder_paths: [place], rank, answer: "contents" as const, stretches };
  const frames = openFrames(await client.open(clusterOperations.download, input));
  for (const [at, file] of some.entries()) {
    const { bytes, problem } = readHead(await frames.line());
    const there = join(task.root, file.path);
    const offset = stretches[at]?.offset ?? 0;
    const moved = (at: number) => came(task.wholeBytes + at);
    const isWhole =
      problem === undefined && (await receivePart(there, file, offset, frames.bytes(bytes), moved));
    task.todo.delete(file);
    task.isAsListed &&= isWhole;
    task.wholeBytes += file.size;
    came(task.wholeBytes);
  }
  await frames.line();
}

const readHead = (line = ""): StretchHead =>
  parseLine(StretchHead, line) ??
  fail("RuntimeError", "the node sent an invalid answer; run the command again");

async function finish({ root, modes, links }: FetchPlan): Promise<void> {
  for (const { path, mode } of modes) {
    const there = join(root, path);
    await chmod(there, mode).catch(cannotWrite(there));
  }
  for (const { path, target } of links) {
    const there = join(root, path);
    await putLink(there, target).catch(cannotWrite(there));
  }
}

async function putLink(there: string, target: string): Promise<void> {
  const part = partOf(there);
  await rm(part, { force: true });
  await symlink(target, part);
  await rename(part, there);
}
