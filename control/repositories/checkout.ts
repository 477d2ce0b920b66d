import { createHash, randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, readlink, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, fail } from "../../common/errors.ts";
import { diskFull, fileDigestOf, spareBytes } from "../../common/files.ts";
import { openTurnsByKey } from "../../common/turns.ts";
import type { Entry } from "../../contract/files-api.ts";
import { readManifest, renew, writeManifest } from "../buckets/manifest.ts";
import type { Config } from "../config.ts";
import { type Repository, runGit, type Surroundings } from "./git.ts";
import { withKey } from "./ssh-key.ts";

/** A commit of a repository as files. */
export interface Checkout {
  readonly folder: string;
  readonly entries: readonly Entry[];
}

type World = { readonly config: Config; now(): Date };

/** One checkout of a commit at a time. */
const inTurn = openTurnsByKey<string>();

/** Where the repositories of all users lie. */
export const repositoriesOf = ({ home }: Pick<Config, "home">): string =>
  join(home, "repositories");

/**
 * The commit that a branch, a tag, a commit or, without any, the default branch of a repository is now. Throws
 * `NotFoundError` when there is no such thing, `PermissionDeniedError`, or `StorageError`.
 */
export const findCommit = (
  world: World,
  repository: Repository,
  ref: string | undefined,
  signal: AbortSignal,
): Promise<string> =>
  withGit(world, repository, async (git) => {
    const lines = (await git(["ls-remote", "--", repository.url], signal)).trim().split("\n");
    const refs = new Map(lines.map((line) => line.split("\t").toReversed() as [string, string]));
    const names = ref === undefined ? ["HEAD"] : [`heads/${ref}`, `tags/${ref}^{}`, `tags/${ref}`];
    for (const name of names) {
      const commit = refs.get(name === "HEAD" ? name : `refs/${name}`);
      if (commit !== undefined) return commit;
    }
    if (ref !== undefined && /^[\da-f]{40}$/.test(ref)) return ref;
    return fail(
      "NotFoundError",
      `${repository.url} has no branch or tag ${ref ?? "HEAD"}; a commit needs all of its 40 digits`,
    );
  });

/** The files of a commit with its `.git`; fetched unless they are here. `owner` is who may read what lies here. */
export async function checkOut(
  world: World,
  repository: Repository,
  { commit, owner }: { commit: string; owner: string },
  signal: AbortSignal,
): Promise<Checkout> {
  const key = createHash("sha256").update(`${owner}\n${repository.url}`).digest("hex");
  const place = join(repositoriesOf(world.config), key, commit);
  return inTurn(place, async () => {
    const folder = join(place, "files");
    const manifest = join(place, "manifest");
    if (!(await renew(manifest, world.now()))) {
      const draft = `${place}.${randomUUID()}`;
      try {
        await mkdir(draft, { recursive: true, mode: 0o700 });
        const files = join(draft, "files");
        const fetch = (until: AbortSignal) =>
          withGit(world, repository, (git) => fetchInto(git, repository, files, commit, until));
        await whileRoom(draft, fetch, signal);
        await writeManifest(join(draft, "manifest"), await listTree(files));
        await rename(draft, place);
      } finally {
        await rm(draft, { recursive: true, force: true });
      }
    }
    return { folder, entries: (await readManifest(manifest)) ?? [] };
  });
}

const lookEveryMs = 500;

/** Works until the disk of a folder is full, but for a reserve; throws `DiskFullError` then. */
async function whileRoom(
  folder: string,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const full = new AbortController();
  const look = async () => {
    if ((await spareBytes(folder)) === 0) full.abort(diskFull(undefined));
  };
  const timer = setInterval(() => void look().catch(() => {}), lookEveryMs);
  try {
    await work(AbortSignal.any([signal, full.signal]));
  } finally {
    clearInterval(timer);
  }
}

type Git = (args: readonly string[], signal: AbortSignal) => Promise<string>;

/** Has git log in with what a repository came with. */
async function withGit<T>(
  { config }: World,
  repository: Repository,
  work: (git: Git) => Promise<T>,
): Promise<T> {
  const folder = repositoriesOf(config);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const surroundings: Surroundings = { folder, env: config.nodeEnv };
  const run = (agentSocket?: string) =>
    work((args, signal) => runGit(repository, { ...surroundings, agentSocket }, args, signal));
  const { sshKey } = repository;
  return sshKey === undefined ? run() : withKey(sshKey, config.nodeEnv, run);
}

/** The commit alone where its server allows that, otherwise all that there is. */
async function fetchInto(
  git: Git,
  { url }: Repository,
  folder: string,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  const within = (...args: string[]) => git(["-C", folder, ...args], signal);
  // No hooks, or whatever else a template of this machine brings.
  await git(["init", "-q", "--template=", "--", folder], signal);
  await within("remote", "add", "origin", "--", url);
  const isThere = () =>
    within("cat-file", "-e", `${commit}^{commit}`).then(
      () => true,
      () => false,
    );
  try {
    await within("fetch", "-q", "--depth", "1", "--no-tags", "origin", commit);
  } catch (error) {
    if (!(error instanceof AppError) || error.type !== "StorageError") throw error;
    await within("fetch", "-q", "--tags", "origin");
  }
  if (!(await isThere())) fail("NotFoundError", `${url} has no commit ${commit}`);
  await within("checkout", "-q", "--detach", commit);
}

/** What lies below a folder, links as links; a folder comes before what is in it. */
async function listTree(root: string, path = ""): Promise<Entry[]> {
  const entries: Entry[] = [{ kind: "folder", path }];
  for (const name of (await readdir(join(root, path))).toSorted()) {
    const below = path === "" ? name : `${path}/${name}`;
    const place = join(root, below);
    const stats = await lstat(place);
    if (stats.isDirectory()) entries.push(...(await listTree(root, below)));
    else if (stats.isSymbolicLink())
      entries.push({ kind: "link", path: below, target: await readlink(place) });
    else if (stats.isFile())
      entries.push({
        ...{ kind: "file", path: below, size: stats.size, mode: stats.mode & 0o777 },
        sha256: await fileDigestOf(place),
      });
  }
  return entries;
}
