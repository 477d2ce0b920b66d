import { mkdir, readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, fail, messageOf } from "../../common/errors.ts";
import { orNothing } from "../../common/files.ts";
import { listMounts } from "../../common/mounts.ts";
import { product } from "../../common/product.ts";
import type { Context } from "../context.ts";
import { runOn } from "../doors/ssh/exec.ts";
import { inKubernetes, pathOfClaim } from "./claims.ts";
import type { Place, Volume } from "./schema.ts";

/** The place of a volume; undefined where it is on several machines, or on none. */
function placeOf(
  ctx: Context,
  { document }: Pick<Volume, "document">,
  signal: AbortSignal,
): Place | undefined {
  const { type, infra = "" } = document;
  const [cloud, pool, name] = infra.split("/");
  if (type === "k8s-pvc") return inKubernetes(ctx, { document }, signal);
  if (type !== "folder") return undefined;
  if (cloud === "local") return here;
  return pool === undefined || name === undefined ? undefined : onHost(ctx, { pool, name }, signal);
}

/** Makes the folder of a volume, or finds the one that is to be used; its path, null where it has none. */
export async function takeFolder(
  ctx: Context,
  volume: Volume,
  signal: AbortSignal,
): Promise<string | null> {
  const { use_existing: isExisting, config } = volume.document;
  const path = config.host_path ?? ownPath(ctx, volume);
  const place = placeOf(ctx, volume, signal);
  if (place === undefined) return config.host_path ?? null;
  return place.take(path, isExisting);
}

/** Deletes the folder of a volume, where that goes with it: one that is only used never does. */
export async function removeFolder(
  ctx: Context,
  volume: Volume,
  signal: AbortSignal,
): Promise<void> {
  const { use_existing: isExisting, config } = volume.document;
  const goes = config.host_path === undefined || config.cleanup_on_deletion === true;
  if (isExisting || !goes || volume.path === null) return;
  await placeOf(ctx, volume, signal)?.remove(volume.path);
}

/** Why the folder of a volume cannot be used now; null where it can, and where nobody can look. */
export async function findProblem(
  ctx: Context,
  volume: Volume,
  signal: AbortSignal,
): Promise<string | null> {
  const { path } = volume;
  if (path === null) return volume.problem;
  try {
    return (await placeOf(ctx, volume, signal)?.problem(path)) ?? null;
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    return error.message;
  }
}

/** Where the folder of a volume lies that its document gives no path. */
function ownPath({ config }: Context, { id, document }: Volume): string {
  if (document.type === "k8s-pvc") return pathOfClaim({ id, document });
  return document.infra === "local"
    ? join(config.home, "volumes", id)
    : `~/.${product.word}/volumes/${id}`;
}

const isFull = (path: string): never =>
  fail("ConflictError", `${path} is not empty; register it as it is with use_existing: true`);
const isMounted = (path: string): never =>
  fail("ConflictError", `something is mounted in ${path}; unmount it first`);
const noFolder = (path: string, infra: string) => `there is no folder ${path} on ${infra}`;
const missing = (path: string): never => fail("NotFoundError", `there is no folder ${path}`);

const here: Place = {
  take: (path, isExisting) =>
    onDisk(`${path} cannot be used`, async () => {
      if (!isExisting) await mkdir(path, { recursive: true, mode: 0o700 });
      const entries = (await orNothing(readdir(path))) ?? missing(path);
      if (!isExisting && entries.length > 0) isFull(path);
      return realpath(path);
    }),
  problem: async (path) => ((await orNothing(readdir(path))) ? null : noFolder(path, "local")),
  remove: (path) =>
    onDisk(`${path} cannot be deleted`, async () => {
      const below = listMounts().find((one) => `${one.path}/`.startsWith(`${path}/`));
      if (below !== undefined) isMounted(path);
      await rm(path, { recursive: true, force: true });
    }),
};

/** Has what the disk refuses be a `StorageError`. */
async function onDisk<T>(failure: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("StorageError", `${failure}: ${messageOf(error)}`, {}, error);
  }
}

const scriptMs = 60_000;
const deletingMs = 15 * 60_000;

/** Paths of mounts have octal escapes. Source: proc_pid_mounts(5). */
const deletingScript = `while read -r _ mounted _; do
  mounted=$(printf '%b/' "\${mounted//\\\\/\\\\0}")
  case $mounted in "$path"/*) echo mounted; exit;; esac
done < /proc/self/mounts
rm -rf -- "$path"`;

function onHost(
  { ssh }: Pick<Context, "ssh">,
  host: { pool: string; name: string },
  signal: AbortSignal,
): Place {
  const run = async (what: string, text: string, path: string, timeoutMs = scriptMs) =>
    runOn(
      ssh.connections,
      await ssh.targetOf(host),
      { what, text: `set -e\npath=\${1/#'~'/$HOME}\n${text}`, args: [path], timeoutMs },
      signal,
    );
  return {
    async take(path, isExisting) {
      const text = `if [ ${isExisting ? 1 : 0} = 0 ]; then mkdir -p -m 700 -- "$path"; fi
if [ ! -d "$path" ]; then echo missing; exit; fi
if [ ${isExisting ? 1 : 0} = 0 ] && [ -n "$(ls -A -- "$path")" ]; then echo full; exit; fi
cd -- "$path"
pwd -P`;
      const said = (await run("taking a folder", text, path)).replace(/\n$/, "");
      if (said === "missing") missing(path);
      return said === "full" ? isFull(path) : said;
    },
    async problem(path) {
      const isThere = await run("looking for a folder", '[ ! -d "$path" ] || echo yes', path);
      return isThere ? null : noFolder(path, `ssh/${host.pool}/${host.name}`);
    },
    async remove(path) {
      const said = await run("deleting a folder", deletingScript, path, deletingMs);
      if (said !== "") isMounted(path);
    },
  };
}
