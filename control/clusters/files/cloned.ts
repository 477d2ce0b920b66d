import { join } from "node:path";
import type { Content } from "../../../contract/files-api.ts";
import type { Workdir } from "../../../contract/task/workdir.ts";
import type { Task } from "../../../contract/task.ts";
import type { Ground } from "../../ground.ts";
import { checkOut, findCommit } from "../../repositories/checkout.ts";
import type { Repository } from "../../repositories/git.ts";
import { secretsOf } from "../../task.ts";
import { splitLogin } from "./login.ts";
import type { ClonedParcel, Load } from "./parcels.ts";

type World = Pick<Ground, "config" | "now">;

/** A repository that a task names, with the login of its address or its secrets. */
export interface NamedRepository {
  readonly name: string;
  readonly destination: string;
  readonly repository: Repository;
  readonly ref: string | undefined;
}

/** The repository of a working folder. Existing clients send the same secrets. */
export function repositoryOf(
  task: Task,
  { url: given, ref }: Extract<Workdir, { kind: "git" }>,
): Pick<NamedRepository, "repository" | "ref"> {
  const { GIT_TOKEN: token, GIT_SSH_KEY: sshKey } = { ...task.envs, ...secretsOf(task) };
  if (!given.startsWith("https:")) return { repository: { url: given, sshKey }, ref };
  const { url, username, password } = splitLogin("workdir.url", given);
  const login = { username: username || undefined, token: password || token };
  return { repository: { url: url.href, ...login }, ref };
}

/** The commit that a task gets, from now on the same on every node. */
export async function pinCommit(
  ctx: World,
  { name, destination, repository, ref }: NamedRepository,
  owner: string,
  signal: AbortSignal,
): Promise<ClonedParcel> {
  const commit = await findCommit(ctx, repository, ref, signal);
  return { name, destination, repository, commit, owner };
}

/** The files of a commit. */
export async function readCommit(
  ctx: World,
  { repository, commit, owner }: ClonedParcel,
  signal: AbortSignal,
): Promise<Load> {
  const { folder, entries } = await checkOut(ctx, repository, { commit, owner }, signal);
  const places = new Map(
    entries.flatMap((one) => (one.kind === "file" ? [[one.sha256, one.path]] : [])),
  );
  const fileOf = ({ sha256 }: Pick<Content, "sha256">) => join(folder, places.get(sha256) ?? "");
  return { entries, contents: { by: "control", fileOf } };
}
