import { fail } from "../common/errors.ts";
import type { TaskIssue } from "../contract/task/issues.ts";
import { splitParts } from "../contract/task/parts.ts";
import { child, itemsOf, type Place, refuse } from "../contract/task/place.ts";
import { isMapping } from "../contract/task/readers.ts";
import { parseYaml } from "../contract/task/yaml-text.ts";
import { absolutePath, isLocalPath, statsAt } from "./task-text.ts";

/**
 * Which files of a task go along: a job on a cluster that is up brings its working folder alone, a
 * service also the certificate that its clients are met with.
 */
export type Scope = "all" | "workdir" | "service";

/** Throws for a `--workdir` that is no folder. */
export function requireFolder(folder: string | undefined, cwd: string): void {
  if (folder === undefined || !isLocalPath(folder)) return;
  const kind = kindOf(folder, cwd);
  if (kind === undefined) fail("NotFoundError", `--workdir: ${nothingAt(folder, cwd)}`);
  if (kind === "other") fail("UsageError", `--workdir: ${folder} is not a folder`);
}

/** The local files that a task names and that are not there, each with its place in the text. */
export function missingFiles(text: string, scope: Scope, cwd: string): readonly TaskIssue[] {
  const issues: TaskIssue[] = [];
  for (const task of splitParts(parseYaml(text), { issues, warnings: [] }).tasks) {
    requirePath(child(task, "workdir"), cwd, "folder");
    if (scope === "workdir") continue;
    const mounts = child(task, "file_mounts");
    requireEach(mounts, cwd);
    if (isMapping(mounts.value))
      for (const key of Object.keys(mounts.value)) requireSources(child(mounts, key), cwd);
    if (scope === "service") requireEach(child(child(task, "service"), "tls"), cwd);
  }
  return issues;
}

function requireEach(place: Place, cwd: string): void {
  if (isMapping(place.value))
    for (const key of Object.keys(place.value)) requirePath(child(place, key), cwd);
}

/** What goes into a bucket: one path, or a list of them. */
function requireSources(mount: Place, cwd: string): void {
  if (!isMapping(mount.value)) return;
  for (const place of itemsOf(child(mount, "source"))) requirePath(place, cwd);
}

/** A path with a variable is known only once it has its value. */
function requirePath(place: Place, cwd: string, wanted?: "folder"): void {
  const { value } = place;
  if (!isLocalPath(value) || value === "" || value.includes("$")) return;
  const kind = kindOf(value, cwd);
  if (kind === undefined) refuse(place, nothingAt(value, cwd));
  else if (wanted === "folder" && kind !== "folder") refuse(place, `${value} is not a folder`);
}

/** That nothing is at a path; a relative one is looked for in the current folder, which is named. */
const nothingAt = (path: string, cwd: string): string =>
  `there is no ${path}${/^[/~]/.test(path) ? "" : ` in ${cwd}`}`;

/** What is at a path; undefined where nothing is. */
function kindOf(path: string, cwd: string): "folder" | "other" | undefined {
  const stats = statsAt(absolutePath(path, cwd));
  return stats && (stats.isDirectory() ? "folder" : "other");
}
