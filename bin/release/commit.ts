import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cutVersion, notesOf } from "./changelog.ts";
import { run } from "./command.ts";

/** The files that name the version, besides those of npm, and where. */
const versionLines = {
  "common/product.ts": /(?<=\btitle: "Outrigger", version: ")[^"]+/,
  "deploy/helm/Chart.yaml": /(?<=^(version|appVersion): ).+/gm,
} as const;

/** Commits the version in every place that has it, unless it is committed; throws if files are modified. */
export async function commitRelease(root: string, version: string): Promise<void> {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    throw new Error(`${version} is no version; write it like 1.2.3`);
  if (run("git", ["tag", "--list", tagOf(version)], root) !== "")
    throw new Error(`${tagOf(version)} exists already; name the next version`);
  if (run("git", ["status", "--porcelain"], root) !== "")
    throw new Error("the checkout has changes; commit or stash them first");

  notesOf(await readFile(join(root, "CHANGELOG.md"), "utf8"), version);
  const date = new Date().toISOString().slice(0, "2000-01-01".length);
  await edit(join(root, "CHANGELOG.md"), (text) => cutVersion(text, version, date));
  for (const [file, line] of Object.entries(versionLines))
    await edit(join(root, file), (text) => text.replace(line, version));
  run("npm", ["version", version, "--no-git-tag-version", "--allow-same-version"], root);
  if (run("git", ["status", "--porcelain"], root) !== "")
    run("git", ["commit", "--quiet", "--all", "--message", `Release ${version}`], root);
}

/** Tags the commit of a release, and says how to publish it. */
export function tagRelease(root: string, version: string): void {
  run("git", ["tag", "--annotate", tagOf(version), "--message", `Outrigger ${version}`], root);
  console.log(`Tagged ${tagOf(version)}. To publish it: git push origin HEAD ${tagOf(version)}`);
}

const tagOf = (version: string) => `v${version}`;

async function edit(file: string, change: (text: string) => string): Promise<void> {
  await writeFile(file, change(await readFile(file, "utf8")));
}
