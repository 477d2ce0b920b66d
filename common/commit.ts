import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ifPossible } from "./errors.ts";

/** Set by `bin/bundle.ts`: null if the build did not know it. */
declare const bundledCommit: string | null | undefined;

const root = join(import.meta.dirname, "..");

/** The commit that this program was built from, or that its checkout is at; undefined if neither is known. */
export const findCommit = (): string | undefined =>
  typeof bundledCommit === "undefined" ? headOf(root) : (bundledCommit ?? undefined);

/** The commit that a checkout is at; undefined outside of one. Source: gitrepository-layout(5). */
export function headOf(folder: string): string | undefined {
  const git = gitFolderOf(join(folder, ".git"));
  const head = read(join(git, "HEAD"));
  const name = /^ref: (.+)$/.exec(head ?? "")?.[1];
  const common = resolve(git, read(join(git, "commondir")) ?? ".");
  const commit =
    name === undefined
      ? head
      : (read(join(git, name)) ?? read(join(common, name)) ?? packed(common, name));
  return commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined;
}

/** In a worktree, `.git` is a file that names the folder. */
function gitFolderOf(path: string): string {
  const named = /^gitdir: (.+)$/.exec(read(path) ?? "")?.[1];
  return named === undefined ? path : resolve(path, "..", named);
}

const packed = (common: string, name: string): string | undefined =>
  read(join(common, "packed-refs"))
    ?.split("\n")
    .find((line) => line.endsWith(` ${name}`))
    ?.split(" ")[0];

const read = (path: string): string | undefined =>
  ifPossible(() => readFileSync(path, "utf8").trim());
