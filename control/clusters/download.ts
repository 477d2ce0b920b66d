import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, posix, relative } from "node:path";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Call, Reply } from "../bind.ts";
import type { Context } from "../context.ts";
import { addDownload, belowDownloads, downloadsOf, shownDownloads } from "../downloads.ts";
import type { Ground } from "../ground.ts";
import { mapInBatches } from "../map-in-batches.ts";
import { textOf } from "../wire/log-pieces.ts";
import { fetchFiles, readPlace } from "./files/fetch.ts";
import { type Member, zipOf } from "./files/zip.ts";
import { getLive, getReadable } from "./find.ts";
import { getJob, latestJobId } from "./jobs.ts";
import { readLastLog } from "./last-logs.ts";
import { openJobLog } from "./logs.ts";

/** What clients are told control's home is: none of its real paths is shown. */
const shownHome = `/${product.word}`;

/** Copies job logs to the caller's folder on control, of a cluster that is off their ends; the paths are for `download`. */
export async function downloadLogs(
  ctx: Context,
  input: InputOf<typeof rows.downloadLogs>,
  call: Call,
) {
  const cluster = await getLive(ctx, input.cluster_name);
  const paths: Record<string, string> = {};
  for (const wanted of input.job_ids?.map(toJobId) ?? [null]) {
    const kept = await readLastLog(ctx, cluster, wanted);
    const { id, chunks } = kept ?? (await logOf(ctx, cluster.name, wanted, call.signal));
    const logs = [{ name: "run.log", chunks }];
    paths[id] = await addDownload(ctx, call, input.env_vars, `${cluster.name}-${id}`, logs);
  }
  return paths;
}

function toJobId(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  return fail("ValueError", `${JSON.stringify(text)} is not a job id; ids are numbers from 1`);
}

async function logOf(ctx: Context, name: string, jobId: number | null, signal: AbortSignal) {
  const cluster = await getReadable(ctx, name);
  const id = jobId ?? (await latestJobId(ctx, cluster, signal));
  await getJob(ctx, cluster, id, signal);
  const query = { id, tail: 0, offset: 0, follow: "false" };
  const { pieces } = await openJobLog(ctx, cluster, query, signal);
  return { id, chunks: textOf(pieces) };
}

/** Folders of the caller, or what lies on a node, as one zip that is sent while it is made. */
export async function download(
  ctx: Context,
  input: InputOf<typeof rows.download>,
  call: Call,
): Promise<Reply> {
  const place = input.folder_paths.map(readPlace).find((found) => found !== undefined);
  if (place !== undefined) return fetchFiles(ctx, place, input, call);
  const folders = await mapInBatches(input.folder_paths, (path) => resolve(ctx, path, call));
  const files: Member[] = [];
  for (const { real, shown } of folders)
    for (const path of await filesIn(real)) {
      const below = relative(real, path);
      const name = input.relative === "items" ? below : posix.join(shown, below).slice(1);
      files.push({ kind: "file", name, mode: 0o600, open: () => createReadStream(path) });
    }
  return {
    headers: {
      "content-type": "application/zip",
      "content-disposition": `attachment; filename="folder_${call.id.replaceAll("-", "")}.zip"`,
      "x-home-path": shownHome,
    },
    body: zipOf(files),
  };
}

/** A path that a client names, as the folder it stands for; only the caller's own are found. */
async function resolve(ctx: Ground, path: string, call: Call) {
  const folder = downloadsOf(ctx, call.user.id);
  const named = posix.normalize(path.replace(/^~(?=\/)/, shownHome));
  const below = belowDownloads(named.replace(shownHome, "~"));
  if (path.includes("\0") || below === undefined)
    fail(
      "ValueError",
      `${JSON.stringify(path)} is not in your log folder, ${shownDownloads(call.user.id, {})}`,
    );
  const real = await findFolder(join(folder, below));
  if (real === undefined || !isWithin(await findFolder(folder), real))
    fail("NotFoundError", `there is no folder ${path}`);
  return { real, shown: named };
}

/** Where a folder truly lies, whatever links lead there; undefined when there is none. */
async function findFolder(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  const found = real === undefined ? undefined : await stat(real).catch(() => undefined);
  return found?.isDirectory() ? real : undefined;
}

const isWithin = (folder: string | undefined, path: string): boolean =>
  folder !== undefined && `${path}/`.startsWith(`${folder}/`);

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}
