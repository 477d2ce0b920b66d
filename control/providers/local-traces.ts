import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { lstat, readdir, readFile, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { fail } from "../../common/errors.ts";
import { ifMissing } from "../../common/files.ts";
import { product } from "../../common/product.ts";
import { exportsFolder } from "../../contract/files-api.ts";

/**
 * What a node has outside of its folder goes with it: exports that it mounted, and links that it made. Links that
 * nodes with these other homes have too stay.
 */
export async function removeTraces(home: string, others: readonly string[] = []): Promise<void> {
  const agent = agentOf(home);
  await removeContainer(join(agent, "remove-container"));
  for (const name of await namesIn(join(agent, "exports"))) {
    const folder = join(exportsFolder, name);
    await promisify(execFile)("umount", ["-l", folder]).catch(() => {});
    await rmdir(folder).catch(() => {});
  }
  for (const name of await namesIn(placedOf(home)))
    if (name.endsWith(".paths")) await removeLinks(home, others, name);
}

/** Throws `CloudError` where it may still be there. */
async function removeContainer(file: string): Promise<void> {
  if (!existsSync(file)) return;
  await promisify(execFile)("sh", [file], { timeout: removalMs }).catch((error) =>
    fail(
      "CloudError",
      `the container of the node cannot be removed: ${error.stderr || error}; it is tried again`,
    ),
  );
}

const removalMs = 30_000;
const agentOf = (home: string): string => join(home, `.${product.word}`, "agent");
const placedOf = (home: string): string => join(agentOf(home), "files", "placed");

/** Files stay, as others may use them by now. A destination has a list of the same name on each node. */
async function removeLinks(home: string, others: readonly string[], name: string): Promise<void> {
  const list = join(placedOf(home), name);
  const paths = await pathsIn(list);
  // Of nodes that go at once the last one to look finds the links to be its own.
  await rm(list, { force: true });
  const shared = (
    await Promise.all(others.map((one) => pathsIn(join(placedOf(one), name))))
  ).flat();
  for (const path of paths) {
    const stats = shared.includes(path) ? undefined : await lstat(path).catch(() => undefined);
    if (stats?.isSymbolicLink()) await unlink(path).catch(() => {});
  }
}

const pathsIn = async (list: string): Promise<string[]> =>
  (await readFile(list, "utf8").catch(ifMissing(""))).split("\0").filter(Boolean);

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
